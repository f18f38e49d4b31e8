package reference_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/store/memory"
)

// ask is a request with as many faults as a row needs.
type ask struct {
	role, method, path, key, media, body string
}

func (p *peer) ask(a ask) reply {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), a.method, p.url+a.path, strings.NewReader(a.body))
	if err != nil {
		p.t.Fatal(err)
	}
	if a.role != "" {
		req.Header.Set("Authorization", "bearer "+p.server.Token(a.role))
	}
	if a.media != "" {
		req.Header.Set("Content-Type", a.media)
	}
	if a.key != "" {
		req.Header.Set("Request-Key", a.key)
	}
	return p.send(req)
}

// TestOrderOfJudgement sends requests that are wrong in several ways: the earlier judgement answers.
func TestOrderOfJudgement(t *testing.T) {
	p := start(t, memory.New(), func(o *reference.Options) {
		o.Limits = func(credential string, l core.Limits) core.Limits {
			l.RequestBytes = 2000
			if credential == access.RESTOnly {
				l.RequestsPerMinute = 1
			}
			if credential == access.Limited {
				l.ConcurrentJobs = 1
			}
			return l
		}
	})
	control, _ := p.server.Control()
	nb := p.notebook("order")
	export := `{"notebook_id":"` + nb + `","format":"text"}`
	lost := `{"notebook_id":"nobody","format":"text"}`
	p.want(p.call(access.Primary, "POST", "/exports", "used", export), 202, "")
	if err := control.HoldNext(t.Context(), access.Limited, 1); err != nil {
		t.Fatal(err)
	}
	p.want(p.call(access.Limited, "POST", "/exports", "used", export), 202, "")
	p.want(p.call(access.RESTOnly, "GET", "/notebooks", "", ""), 200, "")

	const json, text = "application/json", "text/plain"
	long := `{"title":"` + strings.Repeat("x", 3000)
	for _, c := range []struct {
		name   string
		ask    ask
		status int
		code   string
	}{
		{"no token before unknown path", ask{"", "GET", "/nowhere", "", "", ""}, 401, "NO_TOKEN"},
		{"expired token before wrong method", ask{access.Expired, "PATCH", "/notebooks", "", "", ""}, 401, "NO_TOKEN"},
		{"revoked token before anything", ask{access.Revoked, "POST", "/notebooks", "", text, long}, 401, "NO_TOKEN"},
		{"another audience", ask{access.MCPOnly, "GET", "/notebooks", "", "", ""}, 401, "NO_TOKEN"},
		{"unknown path", ask{access.WithoutScope, "POST", "/nowhere", "", text, long}, 404, "NO_SUCH_THING"},
		{"a trailing slash is another path", ask{access.Primary, "GET", "/notebooks/", "", "", ""}, 404, "NO_SUCH_THING"},
		{"method before scope", ask{access.WithoutScope, "PATCH", "/notebooks", "", text, long}, 405, "WRONG_METHOD"},
		{"scope before rate, size and media type", ask{access.WithoutScope, "POST", "/notebooks", "", text, long}, 403, "NOT_ALLOWED"},
		{"rate before size", ask{access.RESTOnly, "POST", "/notebooks", "", text, long}, 429, "SLOW_DOWN"},
		{"size before media type", ask{access.Primary, "POST", "/notebooks", "", text, long}, 413, "BODY_TOO_LONG"},
		{"media type before JSON", ask{access.Primary, "POST", "/notebooks", "", text, `{`}, 415, "WRONG_MEDIA_TYPE"},
		{"no media type", ask{access.Primary, "POST", "/notebooks", "", "", `{}`}, 415, "WRONG_MEDIA_TYPE"},
		{"another charset", ask{access.Primary, "POST", "/notebooks", "", json + "; charset=latin1", `{}`}, 415, "WRONG_MEDIA_TYPE"},
		{"JSON before key", ask{access.Primary, "POST", "/notebooks", "", "Application/JSON; Charset=\"UTF-8\"", `{`}, 400, "NOT_JSON"},
		{"empty body", ask{access.Primary, "POST", "/notebooks", "", json, ""}, 400, "NOT_JSON"},
		{"a number that is two", ask{access.Primary, "POST", "/notebooks", "", json, `{"title":9007199254740993}`}, 400, "NOT_JSON"},
		{"key before schema", ask{access.Primary, "POST", "/notebooks", "", json, `{"nothing":1}`}, 400, "KEY_MISSING"},
		{"long key before schema", ask{access.Primary, "POST", "/notebooks", strings.Repeat("k", 65), json, `{"nothing":1}`}, 400, "PARAMETER_INVALID"},
		{"schema before key lookup", ask{access.Primary, "POST", "/exports", "used", json, `{"nothing":1}`}, 422, "BODY_INVALID"},
		{"key lookup before references", ask{access.Primary, "POST", "/exports", "used", json, lost}, 422, "KEY_REUSED"},
		{"key lookup before job limit", ask{access.Limited, "POST", "/exports", "used", json, lost}, 422, "KEY_REUSED"},
		{"replay before job limit", ask{access.Limited, "POST", "/exports", "used", json, export}, 202, ""},
		{"references before job limit", ask{access.Limited, "POST", "/exports", "new", json, lost}, 404, "NO_SUCH_THING"},
		{"job limit", ask{access.Limited, "POST", "/exports", "new", json, export}, 429, "TOO_MANY_EXPORTS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := *p
			p.t = t
			r := p.want(p.ask(c.ask), c.status, c.code)
			if c.status == 401 && r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("401 with WWW-Authenticate %q", r.header.Get("WWW-Authenticate"))
			}
			if c.status == 405 && r.header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
				t.Errorf("405 with Allow %q", r.header.Get("Allow"))
			}
			if c.status == 429 && r.header.Get("Try-Again-After") == "" {
				t.Error("429 without Try-Again-After")
			}
			if ct := r.header.Get("Content-Type"); ct != json {
				t.Errorf("Content-Type %q", ct)
			}
		})
	}
	// Nothing of all that has bound a key.
	if err := control.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	p.awaitAdmission(access.Limited, "new", export)
	p.want(p.call(access.Primary, "POST", "/notebooks", strings.Repeat("k", 64), `{"title":"T","label":"x"}`), 200, "")
}

// awaitAdmission repeats a request that the job limit refuses until a slot is free.
func (p *peer) awaitAdmission(role, key, body string) {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if r := p.call(role, "POST", "/exports", key, body); r.status != 429 {
			p.want(r, 202, "")
			return
		}
	}
	p.t.Fatal("the job limit never lifted")
}

func TestReplayNeedsNothingButTheKey(t *testing.T) {
	p := start(t, memory.New(), nil)
	control, _ := p.server.Control()
	nb := p.notebook("hidden")
	body := `{"notebook_id":"` + nb + `","format":"text"}`
	first := p.want(p.call(access.Primary, "POST", "/exports", "k", body), 202, "")
	if err := control.SetHidden(t.Context(), access.Primary, "", nb, true); err != nil {
		t.Fatal(err)
	}
	if r := p.want(p.call(access.Primary, "POST", "/exports", "k", body), 202, ""); string(r.raw) != string(first.raw) {
		t.Errorf("replay %s, want %s", r.raw, first.raw)
	}
	p.want(p.call(access.Primary, "POST", "/exports", "k2", body), 404, "NO_SUCH_THING")
	p.want(p.call(access.SecondClient, "POST", "/exports", "k2", body), 202, "")
	if err := control.SetRetired(t.Context(), access.Primary, true); err != nil {
		t.Fatal(err)
	}
	p.want(p.call(access.Primary, "POST", "/exports", "k", body), 401, "NO_TOKEN")
}

func TestOddPathsAreOneIdentity(t *testing.T) {
	p := start(t, memory.New(), nil)
	nb := p.notebook("odd")
	body := `{"text":"t","label":"l"}`
	first := p.want(p.call(access.Primary, "POST", "/notebooks/"+nb+"/notes", "k", body), 201, "")
	for _, path := range []string{"/%6Eotebooks/" + nb + "/notes", "/notebooks/x/../" + nb + "/./notes", "/notebooks/" + nb + "/%6e%6F%74es"} {
		if r := p.want(p.call(access.SecondClient, "POST", path, "k", body), 201, ""); r.str("note_id") != first.str("note_id") {
			t.Errorf("%s made another note", path)
		}
	}
	p.want(p.call(access.Primary, "POST", "/notebooks/"+nb+"%2Fnotes", "k", body), 405, "WRONG_METHOD") // an id with a slash in it
}

func TestPanicTellsNothing(t *testing.T) {
	p := start(t, memory.New(), func(o *reference.Options) {
		o.Rules.NormalizePath = func(s string) string { return s }
		o.Rules.Decode = func([]byte) (any, error) { panic(errors.New("secret detail")) }
	})
	r := p.want(p.call(access.Primary, "POST", "/notebooks", "k", `{}`), 500, "BROKEN")
	if strings.Contains(string(r.raw), "secret") || strings.Contains(string(r.raw), ".go") {
		t.Errorf("the answer tells: %s", r.raw)
	}
}

func TestHeadAndOptions(t *testing.T) {
	p := start(t, memory.New(), nil)
	p.notebook("head")
	get := p.want(p.call(access.Primary, "GET", "/notebooks", "", ""), 200, "")
	head := p.ask(ask{role: access.Primary, method: "HEAD", path: "/notebooks"})
	if head.status != 200 || len(head.raw) != 0 || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
		t.Errorf("HEAD: %d, %d bytes, Content-Length %q; GET has %q", head.status, len(head.raw), head.header.Get("Content-Length"), get.header.Get("Content-Length"))
	}
	options := p.ask(ask{method: "OPTIONS", path: "/notebooks"})
	if options.status != 204 || options.header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("OPTIONS: %d, Allow %q", options.status, options.header.Get("Allow"))
	}
}

func TestHidingAJobHidesItsFile(t *testing.T) {
	p := start(t, memory.New(), nil)
	control, _ := p.server.Control()
	nb := p.notebook("follow")
	job := p.want(p.call(access.Primary, "POST", "/exports", "k", `{"notebook_id":"`+nb+`","format":"text"}`), 202, "").str("export_id")
	file := "/files/" + p.await(job, "done").str("file")
	p.want(p.call(access.Primary, "GET", file, "", ""), 200, "")
	if err := control.SetHidden(t.Context(), access.Primary, "export", job, true); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/exports/" + job} {
		p.want(p.call(access.Primary, "GET", path, "", ""), 404, "NO_SUCH_THING")
		p.want(p.call(access.SecondClient, "GET", path, "", ""), 200, "")
	}
}

func TestTextThatIsNoUTF8(t *testing.T) {
	p := start(t, memory.New(), nil)
	p.want(p.call(access.Primary, "GET", "/notebooks/%ff", "", ""), 400, "PARAMETER_INVALID")
	p.want(p.call(access.Primary, "GET", "/notebooks?label=%ff", "", ""), 400, "PARAMETER_INVALID")
	p.want(p.call(access.Primary, "GET", "/notebooks?a;b", "", ""), 400, "PARAMETER_INVALID")
}
