package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"assay.kit/spec"
)

const document = `
openapi: 3.1.0
info: {title: t, version: "1"}
x-assay:
  environment: {baseUrl: BASE, token: TOKEN}
  error: {mediaType: application/problem+json, code: /code, requestId: /request_id, violations: /errors}
  correlation: $response.header.X-Request-Id
  backpressure: {statuses: [429, 503], delay: $response.header.Retry-After}
  codes:
    unavailable: {status: 503, code: UNAVAILABLE}
paths:
  /v1/things:
    get:
      operationId: listThings
      responses:
        "200": {description: ok, content: {application/json: {schema: {$ref: "#/components/schemas/Things"}}}}
        "204": {description: nothing}
        "404": {$ref: "#/components/responses/Problem"}
        "429": {$ref: "#/components/responses/Problem"}
        "401": {$ref: "#/components/responses/Problem"}
        "503": {$ref: "#/components/responses/Problem"}
    post:
      operationId: createThing
      x-assay: {effect: compute}
      responses:
        "201":
          description: ok
          headers:
            Location: {required: true, schema: {type: string}}
            X-Hint: {schema: {type: string}}
            X-Request-Id: {required: true, schema: {type: string}}
          content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}
        "400": {$ref: "#/components/responses/Problem"}
components:
  responses:
    Problem: {description: no, content: {application/problem+json: {schema: {$ref: "#/components/schemas/Problem"}}}}
  schemas:
    Problem: {type: object, properties: {code: {type: string}, request_id: {type: string}, errors: {type: array, items: {type: object}}}}
    Things: {type: object, required: [items], properties: {items: {type: array, items: {$ref: "#/components/schemas/Thing"}}}}
    Thing:
      type: object
      required: [id]
      properties:
        id: {type: string, minLength: 2}
        at: {oneOf: [{type: "null"}, {type: string, format: date-time}]}
        price: {$ref: "#/components/schemas/Money"}
        mean: {type: [number, string], x-assay: {unit: fraction}}
        quantiles: {type: object, additionalProperties: {type: number, x-assay: {unit: fraction}}}
        choice:
          oneOf:
            - {type: object, required: [kind], properties: {kind: {const: text}, value: {type: string}}}
            - {type: object, required: [kind], properties: {kind: {const: moment}, value: {type: string, format: date-time}}}
    Money:
      type: object
      x-assay: {money: {amount: /amount, asset: /asset, scale: /scale}}
      properties: {amount: {}, asset: {}, scale: {}}
`

func contract(t testing.TB) *spec.Contract {
	t.Helper()
	c, err := spec.Load(fstest.MapFS{"openapi.yaml": {Data: []byte(document)}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// said builds a recorded exchange: "METHOD target", status, header lines, body.
func said(request string, status int, header, body string) Exchange {
	method, target, _ := strings.Cut(request, " ")
	ex := Exchange{End: EndComplete, Role: "primary", Req: Request{Method: method, Target: target,
		Fields: []Field{{"Authorization", "Bearer tok-secret-123"}}}, Head: Head{Status: status}}
	for _, line := range strings.Split(header, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			ex.Head.Fields = append(ex.Head.Fields, Field{name, value})
		}
	}
	if body != "" {
		ex.Events = []Event{{Data: []byte(body)}}
	}
	return ex
}

const (
	jsonHead    = "Content-Type: application/json\nX-Request-Id: r1"
	problemHead = "Content-Type: application/problem+json\nX-Request-Id: r1"
	things      = `{"items": [{"id": "ab"}]}`
	problem     = `{"type": "about:blank", "title": "x", "status": 404, "code": "NOT_FOUND", "request_id": "r1"}`
	get         = "GET /v1/things?limit=1"
	post        = "POST /v1/things"
)

func TestRules(t *testing.T) {
	c := contract(t)
	thing := func(members string) string { return `{"items": [{"id": "ab", ` + members + `}]}` }
	const silent, pass, fail = "silent", "pass", "fail"
	for _, row := range []struct {
		claim, want, name string
		ex                Exchange
	}{
		{"wire.server-error", pass, "200", said(get, 200, jsonHead, things)},
		{"wire.server-error", pass, "503 of the contract", said(get, 503, problemHead, `{"code": "UNAVAILABLE"}`)},
		{"wire.server-error", pass, "501 to an unknown method", said("BREW /v1/things", 501, "", "")},
		{"wire.server-error", fail, "500", said(get, 500, jsonHead, `{}`)},
		{"wire.server-error", fail, "501 to a known method", said("PATCH /v1/things", 501, "", "")},
		{"wire.server-error", fail, "503 with another code", said(get, 503, problemHead, `{"code": "OVERLOADED"}`)},
		{"wire.server-error", fail, "503 of a proxy", said(get, 503, "Content-Type: text/html", "<html>")},

		{"wire.status", pass, "200", said(get, 200, jsonHead, things)},
		{"wire.status", fail, "undocumented", said(get, 202, jsonHead, things)},
		{"wire.status", fail, "undocumented refusal", said(get, 418, problemHead, problem)},
		{"wire.status", silent, "HTTP's own", said(get, 431, "", "")},
		{"wire.status", silent, "outside the contract", said("GET /nope", 404, problemHead, problem)},
		{"wire.status", silent, "5xx", said(get, 500, "", "")},

		{"wire.schema", pass, "good", said(get, 200, jsonHead, things)},
		{"wire.schema", pass, "good problem", said(get, 404, problemHead, problem)},
		{"wire.schema", fail, "short id", said(get, 200, jsonHead, `{"items": [{"id": "a"}]}`)},
		{"wire.schema", fail, "no items", said(get, 200, jsonHead, `{}`)},
		{"wire.schema", fail, "empty body", said(get, 200, jsonHead, ``)},
		{"wire.schema", silent, "no body documented", said(get, 204, "X-Request-Id: r1", "")},
		{"wire.schema", silent, "not JSON", said(get, 200, jsonHead, `{`)},
		{"wire.schema", silent, "HEAD", said("HEAD /v1/things", 200, jsonHead, "")},

		{"wire.media-type", pass, "json", said(get, 200, jsonHead, things)},
		{"wire.media-type", pass, "charset", said(get, 200, "Content-Type: application/json; charset=UTF-8", things)},
		{"wire.media-type", pass, "problem of an unknown path", said("GET /nope", 404, problemHead, problem)},
		{"wire.media-type", fail, "none", said(get, 200, "", things)},
		{"wire.media-type", fail, "two", said(get, 200, jsonHead+"\nContent-Type: text/html", things)},
		{"wire.media-type", fail, "other", said(get, 200, "Content-Type: text/plain", things)},
		{"wire.media-type", fail, "other charset", said(get, 200, "Content-Type: application/json; charset=latin1", things)},
		{"wire.media-type", fail, "problem as json", said(get, 404, jsonHead, problem)},
		{"wire.media-type", silent, "no body", said(get, 204, "", "")},
		{"wire.media-type", silent, "of something in front", said("GET /nope", 400, "Content-Type: text/plain", "400 Bad Request")},

		{"wire.utf8", pass, "good", said(get, 200, jsonHead, `{"items": [{"id": "éé"}]}`)},
		{"wire.utf8", fail, "latin1", said(get, 200, jsonHead, "{\"items\": [{\"id\": \"\xe9\xe9\"}]}")},
		{"wire.utf8", fail, "mark", said(get, 200, jsonHead, "\ufeff"+things)},
		{"wire.utf8", silent, "binary", said(get, 200, "Content-Type: image/png", "\xff")},

		{"wire.json", pass, "good", said(get, 200, jsonHead, things)},
		{"wire.json", fail, "twice", said(get, 200, jsonHead, `{"items": [], "items": []}`)},
		{"wire.json", fail, "trailing", said(get, 200, jsonHead, things+"x")},
		{"wire.json", fail, "two values", said(get, 200, jsonHead, things+things)},
		{"wire.json", fail, "NaN", said(get, 200, jsonHead, `{"items": [NaN]}`)},
		{"wire.json", fail, "half a pair", said(get, 200, jsonHead, `{"items": ["\ud800"]}`)},
		{"wire.json", fail, "documented as JSON, not labelled so", said(get, 200, "Content-Type: text/html", "<html>")},
		{"wire.json", silent, "other media", said("GET /nope", 404, "Content-Type: text/html", "<html>")},

		{"wire.request-id", pass, "there", said(get, 200, jsonHead, things)},
		{"wire.request-id", pass, "refusal", said(get, 404, problemHead, problem)},
		{"wire.request-id", fail, "none on a method that the path lacks", said("PUT /v1/things", 405, "Allow: GET, POST", problem)},
		{"wire.request-id", fail, "none", said(get, 200, "Content-Type: application/json", things)},
		{"wire.request-id", fail, "empty", said(get, 200, "X-Request-Id: ", things)},
		{"wire.request-id", fail, "two", said(get, 200, jsonHead+"\nx-request-id: r2", things)},
		{"wire.request-id-body", pass, "repeated in the body", said(get, 404, problemHead, problem)},
		{"wire.request-id-body", fail, "another in the body", said(get, 404, "X-Request-Id: r2", problem)},
		{"wire.request-id-body", silent, "none in the body", said(get, 404, problemHead, `{"code": "X"}`)},
		{"wire.request-id", silent, "outside the contract", said("GET /nope", 404, "", problem)},

		{"wire.headers", pass, "there", said(post, 201, jsonHead+"\nlocation: /v1/things/ab", `{"id": "ab"}`)},
		{"wire.headers", pass, "one with a rule of its own is missing", said(post, 201, "Location: /v1/things/ab", `{"id": "ab"}`)},
		{"wire.headers", fail, "none", said(post, 201, jsonHead+"\nX-Hint: a", `{"id": "ab"}`)},
		{"wire.headers", silent, "none is required", said(get, 200, jsonHead, things)},

		{"wire.error-shape", pass, "good", said(get, 404, problemHead, problem)},
		{"wire.error-shape", fail, "no code", said(get, 404, problemHead, `{"status": 404}`)},
		{"wire.error-shape", fail, "number for code", said(get, 404, problemHead, `{"code": 7}`)},
		{"wire.error-shape", fail, "other status", said(get, 404, problemHead, `{"code": "X", "status": 400}`)},
		{"wire.error-shape", fail, "status as text", said(get, 404, problemHead, `{"code": "X", "status": "404"}`)},
		{"wire.error-shape", fail, "title as number", said(get, 404, problemHead, `{"code": "X", "title": 1}`)},
		{"wire.error-shape", fail, "html", said(get, 404, "Content-Type: text/html", `<html>`)},
		{"wire.error-shape", fail, "empty", said(get, 404, problemHead, ``)},
		{"wire.error-shape", fail, "array", said(get, 404, problemHead, `[]`)},
		{"wire.error-shape", silent, "HEAD", said("HEAD /v1/things", 405, "", "")},
		{"wire.error-shape", silent, "good answer", said(get, 200, jsonHead, things)},

		{"wire.leak", pass, "good", said(get, 404, problemHead, problem)},
		{"wire.leak", pass, "words", said(get, 404, problemHead, `{"detail": "at most 20 characters; select one from the list; go to /v1/things"}`)},
		{"wire.leak", pass, "echo of the request", said("GET /srv/app/main.go:12", 404, problemHead, `{"detail": "/srv/app/main.go:12 is unknown"}`)},
		{"wire.leak", pass, "code in data", said(get, 200, jsonHead, `{"items": [], "note": "goroutine 1 [running]:"}`)},
		{"wire.leak", fail, "token in a good body", said(get, 200, jsonHead, `{"items": [], "echo": "Bearer tok-secret-123"}`)},
		{"wire.leak", fail, "token in a header", said(get, 200, "X-Debug: tok-secret-123", things)},
		{"wire.leak", fail, "go", said(get, 500, "", "panic: x\n\ngoroutine 12 [running]:\nmain.main()")},
		{"wire.leak", fail, "python", said(get, 500, "", `{"detail": "Traceback (most recent call last):\n File \"a.py\", line 3"}`)},
		{"wire.leak", fail, "java", said(get, 500, "", "\tat com.example.Main$1.run(Main.java:12)")},
		{"wire.leak", fail, "node", said(get, 500, "", "    at Object.<anonymous> (/srv/app/index.js:10:15)")},
		{"wire.leak", fail, "dotnet", said(get, 500, "", `   at App.Things.Get(Int32 id) in /src/App/Things.cs:line 42`)},
		{"wire.leak", fail, "rust", said(get, 500, "", "thread 'main' panicked at src/main.rs:4")},
		{"wire.leak", fail, "postgres", said(get, 500, "", `ERROR: duplicate key value violates unique constraint "x" (SQLSTATE 23505)`)},
		{"wire.leak", fail, "sqlite", said(get, 400, "", `UNIQUE constraint failed: things.id`)},
		{"wire.leak", fail, "statement", said(get, 400, "", `SELECT id, name FROM things WHERE id = 'x'`)},
		{"wire.leak", fail, "path", said(get, 400, "", `/home/deploy/app/handlers/things.go:120`)},

		{"wire.date-time", pass, "offset", said(get, 200, jsonHead, thing(`"at": "2026-10-01T00:00:00+02:00"`))},
		{"wire.date-time", pass, "small letters", said(get, 200, jsonHead, thing(`"at": "2026-10-01t00:00:00.123456789z"`))},
		{"wire.date-time", pass, "leap second", said(get, 200, jsonHead, thing(`"at": "2016-12-31T23:59:60Z"`))},
		{"wire.date-time", fail, "no offset", said(get, 200, jsonHead, thing(`"at": "2026-10-01T00:00:00"`))},
		{"wire.date-time", fail, "date", said(get, 200, jsonHead, thing(`"at": "2026-10-01"`))},
		{"wire.date-time", fail, "in the branch", said(get, 200, jsonHead, thing(`"choice": {"kind": "moment", "value": "noon"}`))},
		{"wire.date-time", silent, "in the other branch", said(get, 200, jsonHead, thing(`"choice": {"kind": "text", "value": "noon"}`))},
		{"wire.date-time", silent, "null", said(get, 200, jsonHead, thing(`"at": null`))},

		{"wire.money", pass, "good", said(get, 200, jsonHead, thing(`"price": {"amount": "-1050", "asset": "USD", "scale": 2}`))},
		{"wire.money", pass, "zero", said(get, 200, jsonHead, thing(`"price": {"amount": "0", "asset": "USD", "scale": 0}`))},
		{"wire.money", fail, "number", said(get, 200, jsonHead, thing(`"price": {"amount": 1050, "asset": "USD", "scale": 2}`))},
		{"wire.money", fail, "decimal", said(get, 200, jsonHead, thing(`"price": {"amount": "10.50", "asset": "USD", "scale": 2}`))},
		{"wire.money", fail, "leading zero", said(get, 200, jsonHead, thing(`"price": {"amount": "010", "asset": "USD", "scale": 2}`))},
		{"wire.money", fail, "no asset", said(get, 200, jsonHead, thing(`"price": {"amount": "10", "scale": 2}`))},
		{"wire.money", fail, "half a scale", said(get, 200, jsonHead, thing(`"price": {"amount": "10", "asset": "USD", "scale": 0.5}`))},
		{"wire.money", silent, "none", said(get, 200, jsonHead, things)},

		{"wire.no-nan", pass, "good", said(get, 200, jsonHead, thing(`"mean": 0.02`))},
		{"wire.no-nan", fail, "text", said(get, 200, jsonHead, thing(`"mean": "NaN"`))},
		{"wire.no-nan", fail, "infinity", said(get, 200, jsonHead, thing(`"mean": "-Infinity"`))},
		{"wire.no-nan", fail, "too large", said(get, 200, jsonHead, thing(`"mean": 1e399`))},
		{"wire.no-nan", fail, "in a map", said(get, 200, jsonHead, thing(`"quantiles": {"0.05": "nan"}`))},
		{"wire.no-nan", silent, "none", said(get, 200, jsonHead, things)},

		{"wire.retry-after", pass, "seconds", said(get, 429, "Retry-After: 12", problem)},
		{"wire.retry-after", pass, "date", said(get, 503, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", problem)},
		{"wire.retry-after", pass, "while polling", said(get, 200, jsonHead+"\nRetry-After: 0", things)},
		{"wire.retry-after", fail, "none", said(get, 429, problemHead, problem)},
		{"wire.retry-after", fail, "fraction", said(get, 429, "Retry-After: 1.5", problem)},
		{"wire.retry-after", fail, "negative", said(get, 429, "Retry-After: -1", problem)},
		{"wire.retry-after", fail, "RFC 3339", said(get, 503, "Retry-After: 2026-10-21T07:28:00Z", problem)},
		{"wire.retry-after", silent, "not due", said(get, 200, jsonHead, things)},

		{"wire.www-authenticate", pass, "bearer", said(get, 401, "WWW-Authenticate: Bearer", problem)},
		{"wire.www-authenticate", pass, "second of a list", said(get, 401, `WWW-Authenticate: Basic realm="x, y", bearer error="invalid_token"`, problem)},
		{"wire.www-authenticate", fail, "none", said(get, 401, problemHead, problem)},
		{"wire.www-authenticate", fail, "another", said(get, 401, "WWW-Authenticate: Basic", problem)},
		{"wire.www-authenticate", silent, "403", said(get, 403, "", problem)},

		{"wire.allow", pass, "good", said("PUT /v1/things", 405, "Allow: GET, POST", problem)},
		{"wire.allow", pass, "two fields and more", said("PUT /v1/things", 405, "Allow: GET,HEAD\nAllow: POST", problem)},
		{"wire.allow", fail, "none", said("PUT /v1/things", 405, problemHead, problem)},
		{"wire.allow", fail, "one missing", said("PUT /v1/things", 405, "Allow: GET", problem)},
		{"wire.allow", fail, "the refused", said("PUT /v1/things", 405, "Allow: GET, POST, PUT", problem)},
	} {
		t.Run(row.claim+"/"+row.name, func(t *testing.T) {
			rule := ruleOf(t, row.claim)
			findings, judged := rule.Look(NewView(c, row.ex))
			got := map[bool]string{true: pass, false: silent}[judged]
			if len(findings) > 0 {
				got = fail
			}
			if got != row.want {
				t.Errorf("%s, not %s: %+v", got, row.want, findings)
			}
			for _, f := range findings {
				if !judged || f.Claim != row.claim || f.Status != row.ex.Head.Status || f.Expected == "" || f.Actual == "" ||
					strings.HasPrefix(row.ex.Req.Target, "/v1") && strings.Contains("GET POST", row.ex.Req.Method) && f.Operation == "" {
					t.Errorf("%+v", f)
				}
				if text, _ := json.Marshal(f); strings.Contains(string(text), "tok-secret-123") {
					t.Errorf("a token in %s", text)
				}
			}
		})
	}
}

func ruleOf(t testing.TB, claim string) Rule {
	t.Helper()
	for _, r := range Passive() {
		if r.Claim == claim {
			return r
		}
	}
	t.Fatalf("no rule %s", claim)
	return Rule{}
}

func TestGoodExchangesBreakNothing(t *testing.T) {
	c := contract(t)
	for _, ex := range []Exchange{
		said(get, 200, jsonHead, `{"items": [{"id": "ab", "at": "2026-10-01T00:00:00Z", "price": {"amount": "10", "asset": "USD", "scale": 2}, "mean": 1}]}`),
		said(get, 204, "X-Request-Id: r1", ""),
		said(get, 404, problemHead, problem),
		said("HEAD /v1/things", 405, "Allow: GET, POST\nX-Request-Id: r1", ""),
		said(post, 201, jsonHead+"\nLocation: /v1/things/ab", `{"id": "ab"}`),
	} {
		for _, r := range Passive() {
			if fs, _ := r.Look(NewView(c, ex)); len(fs) > 0 {
				t.Errorf("%s %s %d: %+v", r.Claim, ex.Req.Method, ex.Head.Status, fs)
			}
		}
	}
}

func TestIncompleteAnswersAreJudgedByNothing(t *testing.T) {
	c := contract(t)
	for _, end := range []End{EndRefused, EndReset, EndTimeout, EndCut, EndTruncated, EndOversize, EndGarbage} {
		ex := said(get, 500, "", `{"half`)
		ex.End = end
		for _, r := range Passive() {
			if fs, judged := r.Look(NewView(c, ex)); judged || len(fs) > 0 {
				t.Errorf("%s judges %s", r.Claim, end)
			}
		}
	}
}

// The cache must never give one exchange another's view.
func TestRulesDoNotMixExchanges(t *testing.T) {
	c, rules := contract(t), Passive()
	body := []byte(things)
	for status, want := range map[int]bool{200: false, 202: true, 418: true} {
		ex := said(get, status, jsonHead, "")
		ex.Events = []Event{{Data: body}}
		for _, r := range rules {
			if fs, _ := r.Look(NewView(c, ex)); r.Claim == "wire.status" && (len(fs) > 0) != want {
				t.Errorf("%d: %v", status, fs)
			}
		}
	}
}

func TestDocumentedOperation(t *testing.T) {
	c := contract(t)
	for request, want := range map[string]string{get: "listThings", post: "createThing", "PUT /v1/things": "", "GET /v1/things/": "", "GET /x?/v1/things": ""} {
		ex := said(request, 200, "", "")
		ex.Req.Operation = "listThings" // what was meant does not count
		got := ""
		if op := DocumentedOperation(c, ex); op != nil {
			got = op.ID
		}
		if got != want {
			t.Errorf("%s is %q", request, got)
		}
	}
}

func TestUniqueRequestIDs(t *testing.T) {
	c := contract(t)
	a, b := said(get, 200, "X-Request-Id: r1", things), said(post, 201, "X-Request-Id: r2", things)
	if fs := UniqueRequestIDs(c, []Exchange{a, b, said(get, 200, "", "")}); len(fs) > 0 {
		t.Errorf("%+v", fs)
	}
	again := said(post, 201, "x-request-id: r1", things)
	again.Req.Operation = "createThing"
	fs := UniqueRequestIDs(c, []Exchange{a, b, again})
	if len(fs) != 1 || fs[0].Operation != "createThing" || fs[0].Claim != RequestIDUnique {
		t.Errorf("%+v", fs)
	}
	if fs := UniqueRequestIDs(&spec.Contract{}, []Exchange{a, again}); len(fs) > 0 {
		t.Errorf("not promised: %+v", fs)
	}
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 10, 21, 7, 27, 30, 0, time.UTC)
	for s, want := range map[string]time.Duration{
		"0": 0, "120": 2 * time.Minute, "Wed, 21 Oct 2026 07:28:00 GMT": 30 * time.Second, "Wednesday, 21-Oct-26 07:28:00 GMT": 30 * time.Second,
		"Wed Oct 21 07:28:00 2026": 30 * time.Second, "Tue, 20 Oct 2026 07:28:00 GMT": 0, "9999999999": 9223372036 * time.Second,
		"": -1, "1.5": -1, "-1": -1, " 1": -1, "1 ": -1, "+1": -1, "1s": -1, "soon": -1, "12345678901": -1, "2026-10-21T07:28:00Z": -1, "Wed, 21 Oct 2026 07:28:00 CET": -1,
	} {
		if got, ok := ParseRetryAfter(s, now); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v", s, got, ok)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"0", "120", "Wed, 21 Oct 2026 07:28:00 GMT", "Wed Oct 21 07:28:00 2026", "-1", "9999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, ok := ParseRetryAfter(s, time.Unix(0, 0)); ok && d < 0 {
			t.Errorf("%q is %v", s, d)
		}
	})
}

func TestImplied(t *testing.T) {
	constant := func(s string) map[string]any { return map[string]any{"const": s} }
	rule := func(condition map[string]any) map[string]any { return map[string]any{"if": condition, "then": "then"} }
	kind := map[string]any{"properties": map[string]any{"kind": constant("a")}}
	for name, c := range map[string]struct {
		rule  map[string]any
		value any
		want  bool
	}{
		"met":                {rule(kind), map[string]any{"kind": "a", "x": 1}, true},
		"another text":       {rule(kind), map[string]any{"kind": "b"}, false},
		"absent":             {rule(kind), map[string]any{}, false},
		"no object":          {rule(kind), "a", false},
		"asks for more":      {rule(map[string]any{"properties": kind["properties"], "minProperties": 1}), map[string]any{"kind": "a"}, false},
		"asks for no text":   {rule(map[string]any{"properties": map[string]any{"kind": map[string]any{"type": "string"}}}), map[string]any{"kind": "a"}, false},
		"without a then":     {map[string]any{"if": kind}, map[string]any{"kind": "a"}, false},
		"without conditions": {rule(map[string]any{}), map[string]any{"kind": "a"}, false},
	} {
		if then, ok := implied(c.rule, c.value); ok != c.want || ok && then != any("then") {
			t.Errorf("%s: %v %v", name, then, ok)
		}
	}
}
