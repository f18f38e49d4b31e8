package spec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// mistake is one edit of the good contract: old becomes new, and the problem is to be reported at
// the line that holds at (if empty: the first line of new), with a text that has want.
type mistake struct {
	name, file, old, new, at, want string
}

func (m mistake) apply(t *testing.T, files map[string]string) int {
	t.Helper()
	text := files[m.file]
	if strings.Count(text, m.old) < 1 {
		t.Fatalf("%s: %q is not in %s", m.name, m.old, m.file)
	}
	text = strings.Replace(text, m.old, m.new, 1)
	files[m.file] = text
	at := m.at
	if at == "" {
		at, _, _ = strings.Cut(m.new, "\n")
	}
	i := strings.Index(text, at)
	if i < 0 {
		t.Fatalf("%s: %q is not in the changed file", m.name, at)
	}
	return 1 + strings.Count(text[:i], "\n")
}

func check(t *testing.T, ms []mistake) {
	t.Helper()
	for _, m := range ms {
		t.Run(m.name, func(t *testing.T) {
			files := good(t)
			line := m.apply(t, files)
			_, err := load(files)
			for _, p := range problems(err) {
				if p.File == m.file && p.Line == line && strings.Contains(p.String(), m.want) {
					return
				}
			}
			t.Errorf("no problem in %s:%d with %q; got:\n%v", m.file, line, m.want, err)
		})
	}
}

func TestVocabularyErrors(t *testing.T) {
	const f = "openapi.yaml"
	check(t, []mistake{
		{"typo of an operation's member", f, "idempotency: {conflict", "idempotancy: {conflict", "", `x-assay has no member "idempotancy"; did you mean "idempotency"?`},
		{"typo inside a trait", f, "resource: thing\n          id: /id", "resource: thing\n          id: /id\n          itmes: /x", "itmes", `x-assay.collection has no member "itmes"; did you mean "items"?`},
		{"typo of the document's member", f, "environment:", "enviroment:", "", `did you mean "environment"?`},
		{"unknown limit", f, "cursorTtl: /ttl", "cursorTTL: /ttl", "", `did you mean "cursorTtl"?`},
		{"unknown profile", f, "profile: seer", "profile: sear", "", `did you mean "seer"?`},
		{"unknown value", f, "isolate: {path: group_id}", "snapshot: watermrk", "", `did you mean "watermark"?`},
		{"unknown effect", f, "effect: financial", "effect: money", "", "must be one of"},
		{"property's trait on an operation", f, "authority: [grant]", "unit: seconds", "", `x-assay has no member "unit"`},
		{"operation's trait on a schema", f, "ThingRef: {type: string, x-assay: {ref: {resource: thing, from: createThing}}}", "ThingRef: {type: string, x-assay: {effect: read}}", "", `x-assay has no member "effect"`},
		{"misplaced", f, "info: {title: Things", "info: {x-assay: {effect: read}, title: Things", "", "x-assay means nothing here"},
		{"no object", f, "x-assay: {effect: compute}\n      responses: {\"204\"", "x-assay: compute\n      responses: {\"204\"", "x-assay: compute", "must be object"},
		{"missing member", f, "creates: {resource: thing, id: $response.body#/id,", "creates: {id: $response.body#/id,", "", `the member "resource" is missing`},
		{"bad expression", f, "id: $response.body#/id, read", "id: $response.boody#/id, read", "", "after $response comes"},
		{"no expression", f, "id: $response.body#/id, read", "id: /id, read", "", "must match the pattern"},
		{"bad pointer", f, "volatile: [/created_at]", "volatile: [created_at]", "", "no valid json-pointer"},
		{"ref without from", f, "ref: {resource: thing, from: createThing}", "ref: {resource: thing}", "", `the member "from" is missing`},
		{"refusal that is none", f, "conflict: {status: 422}", "conflict: {status: 200}", "", "at least 400"},
		{"isolate by half", f, "isolate: {path: group_id}", "isolate: {param: state}", "", `the member "member" is missing`},
	})
}

func TestCrossCheckErrors(t *testing.T) {
	const f = "openapi.yaml"
	check(t, []mistake{
		{"creates.read", f, "read: getThing,", "read: getThin,", "", `creates.read names the operation "getThin", which does not exist; did you mean "getThing"?`},
		{"creates.list is no operation", f, "list: listThings", "list: listThing", "", `did you mean "listThings"?`},
		{"creates.list is no collection", f, "list: listThings", "list: getThing", "", "which is no collection"},
		{"creates.list lists another", f, "resource: thing\n          id: /id", "resource: other\n          id: /id", "list: listThings", `which lists "other", not "thing"`},
		{"creates.id", f, "id: $response.body#/id", "id: $response.body#/idd", "", "no success answer of createThing has that"},
		{"idempotency key undeclared", f, "parameters: [{$ref: \"#/components/parameters/Key\"}]\n      requestBody:\n        required: true", "requestBody:\n        required: true", "idempotency: {conflict", "has no such parameter"},
		{"retention limit", f, "idempotencyRetention: /retention", "requestBytes: /retention", "idempotency: {conflict", `the limit "idempotencyRetention"`},
		{"limit pointer", f, "cursorTtl: /ttl", "cursorTtl: /tttl", "", "no success answer of getConnection"},
		{"connection", f, "operation: getConnection\n", "operation: getConnexion\n", "", `did you mean "getConnection"?`},
		{"mcp endpoint", f, "endpoint: /mcp,", "endpoint: /mpc,", "", "mcp.endpoint is /mpc"},
		{"mcp utility", f, "utilities: [t_jobs]", "utilities: [t_job]", "", `the tool "t_job"`},
		{"error pointer", f, "profile: seer", "profile: seer\n  error: {mediaType: application/problem+json, code: /kode}", "code: /kode", "no documented refusal has that"},
		{"volatile", f, "volatile: [/created_at]", "volatile: [/create_at]", "", "volatile is /create_at"},
		{"access.follows", f, "access: {follows: thing}", "access: {follows: thingy}", "", `did you mean "thing"?`},
		{"items", f, "resource: thing\n          id: /id", "resource: thing\n          items: /itemz\n          id: /id", "items: /itemz", "collection.items is /itemz"},
		{"items is no array", f, "resource: thing\n          id: /id", "resource: thing\n          items: /next_cursor\n          id: /id", "items: /next_cursor", "no array"},
		{"item id", f, "resource: thing\n          id: /id", "resource: thing\n          id: /idd", "id: /idd", "the items of listThings have no such member"},
		{"next", f, "resource: thing\n          id: /id", "resource: thing\n          next: /nxt\n          id: /id", "next: /nxt", "collection.next is /nxt"},
		{"cursor", f, "{name: cursor, in: query", "{name: kursor, in: query", "collection:", "$request.query.cursor"},
		{"filter parameter", f, "filters: {state:", "filters: {stat:", "", `the query parameter "stat"`},
		{"filter member", f, "filters: {state: {member: /state", "filters: {state: {member: /stat", "", "collection.filters.state.member is /stat"},
		{"order parameter", f, "order: {param: order", "order: {param: sort", "", `"sort"`},
		{"order default", f, "default: -created_at", "default: newest", "", `"newest", which is none of its values`},
		{"order member", f, "{created_at: {by: /created_at}", "{created_at: {by: /made_at}", "", "is /made_at"},
		{"isolate path", f, "isolate: {path: group_id}", "isolate: {path: agent_id}", "", `the path parameter "agent_id"`},
		{"limit against schema", f, "resource: thing\n          id: /id", "resource: thing\n          limit: {max: 100}\n          id: /id", "limit: {max: 100}", "collection.limit.max is 100, and the parameter \"limit\" has maximum 50"},
		{"job.read", f, "read: getRun, cancel", "read: getRum, cancel", "", `did you mean "getRun"?`},
		{"job.cancel", f, "cancel: cancelRun,", "cancel: cancelRunn,", "", "job.cancel names"},
		{"job.artifact", f, "artifact: getThing}", "artifact: getArtifact}", "", "job.artifact names"},
		{"job.state without states", f, "job: {read: getRun,", "job: {state: /result_ref, read: getRun,", "", "which has no states"},
		{"job.state elsewhere", f, "job: {read: getRun,", "job: {state: /stat, read: getRun,", "", "job.state is /stat"},
		{"job.success", f, "job: {read: getRun,", "job: {success: complete, read: getRun,", "", `no terminal state of run; did you mean "completed"?`},
		{"job.result", f, "job: {read: getRun,", "job: {result: /reslt, read: getRun,", "", "job.result is /reslt"},
		{"job.id", f, "properties: {job_id: {type: string}", "properties: {jobid: {type: string}", "job: {read", "job.id is /job_id"},
		{"job.accepted", f, "job: {read: getRun,", "job: {accepted: 201, read: getRun,", "", "job.accepted is 201"},
		{"moves.to", f, "to: done}", "to: dun}", "", `did you mean "done"?`},
		{"moves.from", f, "from: [new],", "from: [gnu],", "", "moves.from has"},
		{"moves no transition", f, "from: [new], to: done}", "from: [done], to: new}", "", "which is no transition of thing"},
		{"moves without machine", f, "moves: {resource: thing,", "moves: {resource: group,", "", "has no states"},
		{"ref.from", f, "ref: {resource: thing, from: createThing}", "ref: {resource: thing, from: createThings}", "", "ref.from names"},
		{"ref.from yields nothing", f, "ref: {resource: thing, from: createThing}", "ref: {resource: thing, from: finishThing}", "", "neither creates nor lists"},
		{"ref.from yields another", f, "ref: {resource: thing, from: createThing}", "ref: {resource: run, from: createThing}", "", "does not yield one"},
		{"ref.at", f, "at: /job_id}}}}", "at: /jobid}}}}", "", "ref.at is /jobid"},
		{"toolInput", f, "toolInput: /tool,", "toolInput: /tol,", "", "toolInput is /tol"},
		{"money", f, "amount: /amount,", "amount: /sum,", "", "money.amount is /sum"},
		{"initial", f, "initial: new", "initial: old", "", `"old", which is no state of thing`},
		{"transition to nowhere", f, "transitions: {new: [done]}", "transitions: {new: [dun]}", "", `did you mean "done"?`},
		{"terminal with exits", f, "transitions: {new: [done]}", "transitions: {new: [done], done: [new]}", "", "has exits"},
		{"dead end", f, "running: [completed, failed, cancelled]}", "running: []}", "", "has no exits and is not terminal"},
		{"terminal unknown", f, "terminal: [done]", "terminal: [done, gone]", "", `"gone"`},
		{"meaning unknown", f, "meaning: {new:", "meaning: {nu:", "", `"nu"`},
		{"enum has more", f, "enum: [new, done]", "enum: [new, done, lost]", "states:\n              resource: thing", `the enum has "lost"`},
		{"two machines", f, "resource: run\n              initial", "resource: thing\n              initial", "states:\n              resource: thing\n              initial: acc", "differ from those in line"},
	})
}

func TestDocumentErrors(t *testing.T) {
	const f = "openapi.yaml"
	check(t, []mistake{
		{"not YAML", f, "info: {title", "info: {{title", "x-assay:\n", "not YAML"},
		{"duplicate key", f, "security: [{bearer: [things:all]}]", "security: []\nsecurity: []", "security: []\npaths", `"security" is there twice`},
		{"version", f, "openapi: 3.1.0", "openapi: 2.0.0", "", "3.0 and 3.1 are"},
		{"version is a number", f, "openapi: 3.1.0", "openapi: 3.1", "", "quoted"},
		{"external file", f, `{$ref: "#/components/parameters/ThingID"}]`, `{$ref: "params.yaml#/ThingID"}]`, "", `the $ref "params.yaml#/ThingID" leaves this document`},
		{"external URL", f, `{$ref: "#/components/schemas/Run"}`, `{$ref: "https://example.com/run.json"}`, "", `"https://example.com/run.json"`},
		{"dangling", f, `{$ref: "#/components/schemas/Run"}`, `{$ref: "#/components/schemas/Rum"}`, "", "leads nowhere"},
		{"anchor", f, `{$ref: "#/components/schemas/Run"}`, `{$ref: "#Run"}`, "", "no JSON pointer"},
		{"$id", f, "    Run:\n      type: object", "    Run:\n      $id: other\n      type: object", "$id: other", "$id changes"},
		{"bad schema", f, "status_url: {type: string}", "status_url: {type: strink}", "", "strink"},
		{"bad pattern", f, "ThingRef: {type: string,", "ThingRef: {type: string, pattern: '^(?!a)',", "", "(?!"},
		{"no operationId", f, "      operationId: finishThing\n", "", "    post:\n      x-assay:\n        effect: financial", "has no operationId"},
		{"operationId twice", f, "operationId: finishThing", "operationId: getThing", "operationId: getThing\n      x-assay:\n        effect: financial", "is there twice"},
		{"paths alike", f, "  /runs:", "  /things/{other}:\n    get: {operationId: other, parameters: [{name: other, in: path, required: true, schema: {}}], responses: {'200': {description: ok}}}\n  /runs:", "", "same requests"},
		{"path parameter undeclared", f, "  /things/{thing_id}:finish:", "  /things/{id}:finish:", "    post:\n      operationId: finishThing", "must define exactly all path parameters"},
		{"no effect", f, "      x-assay: {effect: compute}\n      responses: {\"204\"", "      responses: {\"204\"", "    delete:", "does not say its effect"},
		{"example of a body", f, "friends: [t1, t2]}", "friends: [t1, 2]}", "", "breaks its schema at /friends/1: must be string"},
		{"example with a strange member", f, "example: {name: a,", "example: {name: a, extra: 1,", "", `the member "extra" is not allowed`},
		{"example of an answer", f, `created_at: "2026-10-01T00:00:00Z"`, `created_at: "2026-10-01"`, "", "no valid date-time"},
		{"example of a parameter", f, "example: 5}", "example: 500}", "", "at most 50"},
		{"example of a schema", f, "examples: [a thing]", "examples: ['']", "", "at least 1 character"},
		{"bad status", f, `"204": {description: done}`, `"2o4": {description: done}`, "", "2o4"},
	})
}

func TestCatalogErrors(t *testing.T) {
	const f = "tool-catalog.json"
	check(t, []mistake{
		{"not JSON", f, `"schema_version": "1.0",`, `"schema_version": "1.0"`, `"tools": [`, "not JSON"},
		{"duplicate member", f, `"title": "Make",`, `"title": "Make", "title": "x",`, "", `"title" is there twice`},
		{"typo", f, `"operation": "getRun", "effect"`, `"opration": "getRun", "effect"`, "", `did you mean "operation"?`},
		{"no operation", f, `"operation": "getRun"`, `"operation": "getRum"`, "", `did you mean "getRun"?`},
		{"no effect", f, `"effect": "read"}}`, `"scopes": []}}`, "", `the member "effect" is missing`},
		{"no meta", f, `, "_meta": {"assay": {"operation": "getRun", "effect": "read"}}`, "", `"name": "t_jobs"`, "has no _meta.assay"},
		{"same revision", f, `"revision": {"schema": "1.1"}`, `"revision": {"schema": "1.0"}`, `{
      "name": "t_thing_make",
      "inputSchema": {"type": "object"}`, "twice in one revision"},
		{"same domain", f, `"name": "t_thing_make",
      "inputSchema": {"type": "object"},
      "_meta": {"assay": {"domain": "thing.make", "operation": "createThing", "effect": "compute", "async": true, "revision": {"schema": "1.1"}`,
			`"name": "t_thing_other",
      "inputSchema": {"type": "object"},
      "_meta": {"assay": {"domain": "thing.make", "operation": "createThing", "effect": "compute", "async": true, "revision": {"schema": "1.0"}`, `{
      "name": "t_thing_other"`, `the domain tool "thing.make" is there twice`},
		{"name against domain", f, `"domain": "thing.make"`, `"domain": "thing.makes"`, `{
      "name": "t_thing_make",
      "title"`, `it is called "t_thing_makes"`},
		{"bad input schema", f, `"inputSchema": {"type": "object"},`, `"inputSchema": {"type": "objet"},`, "", "no valid JSON Schema"},
		{"schema reads a file", f, `"inputSchema": {"type": "object"},`, `"inputSchema": {"$ref": "file:///etc/passwd"},`, "", "only references within the document"},
		{"no input schema", f, `"inputSchema": {"type": "object"}, "_meta": {"assay": {"operation": "getRun"`, `"_meta": {"assay": {"operation": "getRun"`, `"name": "t_jobs"`, "no inputSchema"},
		{"example", f, `"one": {"name": "a"}`, `"one": {"name": 3}`, "", "must be string"},
		{"domain of a utility", f, `{"operation": "getRun"`, `{"domain": "runs", "operation": "getRun"`, "", "belong under tools"},
		{"tool without domain", f, `"domain": "thing.make", "operation": "createThing", "effect": "compute", "async"`, `"operation": "createThing", "effect": "compute", "async"`, "", "belong under mcp_utilities"},
	})
}

func TestRequirementErrors(t *testing.T) {
	const f = "requirements.yaml"
	check(t, []mistake{
		{"same id", f, "id: T-IDEM-02", "id: T-IDEM-01", "role: client", "is there twice; the first is in line 2"},
		{"typo", f, "note:", "nota:", "", `the requirement has no member "nota"; did you mean "note"?`},
		{"role", f, "role: client", "role: klient", "", `did you mean "client"?`},
		{"origin", f, "origin: inferred, level", "level", "", `the member "origin" is missing`},
		{"claim", f, "claims: [idempotency.replay,", "claims: [replay,", "", "must match the pattern"},
		{"claim object", f, "{id: idempotency.null-is-change,", "{ident: x,", "", `has no member "ident"`},
		{"no list", f, "requirements:\n- {id: T-IDEM-01", "requirements: {}\nother:\n- {id: T-IDEM-01", "requirements: {}", "must be a list"},
	})
}

func TestLoadRefusesFolders(t *testing.T) {
	deep := strings.Repeat("{a: ", tree.MaxDepth) + "1" + strings.Repeat("}", tree.MaxDepth)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"empty folder", map[string]string{}, "neither operations nor tools"},
		{"only requirements", map[string]string{"r.yaml": "requirements: []"}, "neither operations nor tools"},
		{"no paths", map[string]string{"openapi.yaml": "openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths: {}\n"}, "neither operations nor tools"},
		{"swagger", map[string]string{"openapi.yaml": "swagger: '2.0'\n"}, "convert Swagger 2.0"},
		{"huge", map[string]string{"openapi.json": strings.Repeat(" ", tree.MaxBytes+1)}, "bytes"},
		{"deep", map[string]string{"openapi.yaml": "x: " + deep}, "nested deeper"},
		{"alias bomb", map[string]string{"openapi.yaml": bomb()}, "aliases unfold"},
		{"broken YAML beside", map[string]string{"openapi.yaml": "openapi: 3.1.0", "other.yaml": "a: ["}, "other.yaml"},
	} {
		if _, err := load(c.files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %.300v, want %q", c.name, err, c.want)
		}
	}
	if _, err := spec.Load(fstest.MapFS{"openapi.yaml": &fstest.MapFile{Mode: 0o755 | 1<<31}}, "x"); err == nil {
		t.Error("a folder called openapi.yaml is read")
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

// TestAllProblemsInOrder: everything that is wrong comes at once, by file and line.
func TestAllProblemsInOrder(t *testing.T) {
	files := good(t)
	for _, m := range []mistake{
		{"a", "openapi.yaml", "read: getThing,", "read: nope,", "", ""},
		{"b", "openapi.yaml", "to: done}", "to: dun}", "", ""},
		{"c", "openapi.yaml", "terminal: [done]", "terminal: [done, gone]", "", ""},
		{"d", "tool-catalog.json", `"operation": "getRun"`, `"operation": "getRum"`, "", ""},
	} {
		m.apply(t, files)
	}
	ps := problems(second(load(files)))
	if len(ps) != 4 {
		t.Fatalf("problems are %v", ps)
	}
	for i := 1; i < len(ps); i++ {
		if ps[i-1].File == ps[i].File && ps[i-1].Line > ps[i].Line {
			t.Errorf("%v comes before %v", ps[i-1], ps[i])
		}
	}
	if ps[3].File != "tool-catalog.json" {
		t.Errorf("the last is %v", ps[3])
	}
	for range 5 { // maps are walked in another order each time
		if again := problems(second(load(files))); fmt.Sprint(again) != fmt.Sprint(ps) {
			t.Fatalf("another load gives %v", again)
		}
	}
}

func TestFromTools(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":1,"result":{"tools":[
		{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
		{"name":"write","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}}`
	c, err := spec.FromTools(json.RawMessage(list), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Tools) != 2 || c.Tools[0].Effect != spec.EffectRead || c.Tools[1].Effect != spec.EffectCompute || c.Tools[1].Output == nil || c.Tools[0].Domain != "read" || c.Digest == "" {
		t.Errorf("tools are %+v %+v", c.Tools[0], c.Tools[1])
	}
	if op, _, _ := c.Find("GET", "/"); op != nil {
		t.Error("a contract of tools has operations")
	}
	for _, c := range []struct{ name, list, want string }{
		{"no tools", `{"tools":[]}`, "no tools"},
		{"no JSON", `{`, "not JSON"},
		{"no list", `{"tools":{}}`, "must be a list"},
		{"same name", `[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}}]`, "twice"},
		{"no name", `[{"inputSchema":{}}]`, "needs a name"},
		{"a file", `[{"name":"a","inputSchema":{"$ref":"file:///etc/passwd"}}]`, "only references within the document"},
		{"too many", "[" + strings.Repeat(`{"name":"a"},`, 3000) + `{}]`, "at most"},
	} {
		if _, err := spec.FromTools(json.RawMessage(c.list), "x"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %.200v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzParseExpr(f *testing.F) {
	for _, s := range []string{"$request.header.Idempotency-Key", "$response.body#/a~1b", "$request.query.cursor", "$response.query.x", "$", "$request.body#a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := spec.ParseExpr(s)
		if err != nil {
			return
		}
		if e.IsZero() || e.String() != s {
			t.Errorf("%q reads as %+v, written %q", s, e, e.String())
		}
	})
}

// FuzzLoad: any document gives a contract or a *LoadError whose problems say where, never a panic.
func FuzzLoad(f *testing.F) {
	f.Add("openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths: {/a: {get: {operationId: a, responses: {'200': {description: ok}}}}}\n", `{"tools":[]}`, "requirements: []")
	f.Add("openapi: 3.0.0\nx-assay: {profile: seer}\npaths: {/a/{x}: {$ref: '#/paths/~1b'}, /b: {$ref: '#/paths/~1a~1%7Bx%7D'}}", `{"mcp_utilities":[{"name":"a","_meta":{"assay":{}}}]}`, "requirements: [{id: A-1}]")
	f.Fuzz(func(t *testing.T, doc, tools, rows string) {
		c, err := load(map[string]string{"openapi.yaml": doc, "tool-catalog.json": tools, "requirements.yaml": rows})
		if err == nil {
			if len(c.Ops)+len(c.Tools) == 0 || c.Digest == "" {
				t.Fatalf("an empty contract is loaded: %+v", c)
			}
			return
		}
		ps := problems(err)
		if len(ps) == 0 {
			t.Fatalf("error without problems: %v", err)
		}
		for _, p := range ps {
			if p.File == "" || p.Message == "" {
				t.Fatalf("problem without place: %+v", p)
			}
		}
	})
}
