package reference_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"assay.kit/reference"
	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/store/memory"
	"assay.kit/reference/store/sqlite"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

func contract(t *testing.T, name string) *spec.Contract {
	t.Helper()
	files, err := contracts.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Load(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// peer is one running server and a caller of it.
type peer struct {
	t      *testing.T
	server *reference.Server
	url    string
	stop   func()
}

func start(t *testing.T, s core.Store, change func(*reference.Options)) *peer {
	t.Helper()
	o := reference.Options{Contract: contract(t, "notes"), Store: s, Seed: 7}
	if change != nil {
		change(&o)
	}
	server, err := reference.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	web := httptest.NewServer(server.Handler())
	p := &peer{t: t, server: server, url: web.URL}
	p.stop = sync.OnceFunc(func() {
		web.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(p.stop)
	return p
}

type reply struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

func (r reply) str(path ...string) string {
	var v any = r.body
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}

// call sends a request as a role; key "" sends none, body "" none.
func (p *peer) call(role, method, path, key, body string) reply {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		p.t.Fatal(err)
	}
	if role != "" {
		req.Header.Set("Authorization", "Bearer "+p.server.Token(role))
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Request-Key", key)
	}
	return p.send(req)
}

func (p *peer) send(req *http.Request) reply {
	p.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	r := reply{status: res.StatusCode, header: res.Header}
	if r.raw, err = io.ReadAll(res.Body); err != nil {
		p.t.Fatal(err)
	}
	if len(r.raw) > 0 {
		if err := json.Unmarshal(r.raw, &r.body); err != nil {
			p.t.Fatalf("%s %s: %v in %q", req.Method, req.URL, err, r.raw)
		}
	}
	return r
}

func (p *peer) want(r reply, status int, code string) reply {
	p.t.Helper()
	if r.status != status || r.str("error", "code") != code {
		p.t.Fatalf("got %d %s, want %d %q", r.status, r.raw, status, code)
	}
	if r.header.Get("Request-Id") == "" {
		p.t.Fatalf("%d without Request-Id", status)
	}
	return r
}

func (p *peer) notebook(label string) string {
	p.t.Helper()
	r := p.want(p.call(access.Primary, "POST", "/notebooks", "nb-"+label, `{"title":"T","label":"`+label+`"}`), 200, "")
	return r.str("id")
}

func stores(t *testing.T) map[string]func(t *testing.T) core.Store {
	return map[string]func(t *testing.T) core.Store{
		"memory": func(*testing.T) core.Store { return memory.New() },
		"sqlite": func(t *testing.T) core.Store {
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "notes.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
	}
}

func TestCreationReplayConflict(t *testing.T) {
	for name, open := range stores(t) {
		t.Run(name, func(t *testing.T) {
			p := start(t, open(t), nil)
			first := p.want(p.call(access.Primary, "POST", "/notebooks", "k1", `{"title":"T","label":"a"}`), 200, "")
			replay := p.want(p.call(access.Primary, "POST", "/notebooks", "k1", "{ \"label\":\"\\u0061\", \"title\":\"T\" }"), 200, "")
			if !bytes.Equal(first.raw, replay.raw) {
				t.Errorf("replay %s differs from %s", replay.raw, first.raw)
			}
			if e := first.header.Get("Request-Key-Expires"); e == "" || e != replay.header.Get("Request-Key-Expires") {
				t.Errorf("Request-Key-Expires: first %q, replay %q", e, replay.header.Get("Request-Key-Expires"))
			}
			p.want(p.call(access.Primary, "POST", "/notebooks", "k1", `{"title":"T","label":"b"}`), 422, "KEY_REUSED")
			p.want(p.call(access.Primary, "POST", "/notebooks", "k1", `{"title":"T","label":"a","style":null}`), 422, "KEY_REUSED")
			for _, role := range []string{access.SecondClient, access.SecondWorkspace} {
				other := p.want(p.call(role, "POST", "/notebooks", "k1", `{"title":"T","label":"b"}`), 200, "")
				if other.str("id") == first.str("id") {
					t.Errorf("%s got the notebook of primary", role)
				}
			}
			read := p.want(p.call(access.SecondClient, "GET", "/notebooks/"+first.str("id"), "", ""), 200, "")
			if !bytes.Equal(read.raw, first.raw) {
				t.Errorf("read %s differs from %s", read.raw, first.raw)
			}
			p.want(p.call(access.SecondWorkspace, "GET", "/notebooks/"+first.str("id"), "", ""), 404, "NO_SUCH_THING")
		})
	}
}

func TestTwinsMakeOneThing(t *testing.T) {
	for name, open := range stores(t) {
		t.Run(name, func(t *testing.T) {
			p := start(t, open(t), nil)
			const n = 16
			ids := make([]string, n)
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					r := p.call(access.Primary, "POST", "/notebooks", "twin", fmt.Sprintf(`{"title":"T","label":"l%d"}`, i%2))
					switch r.status {
					case 200:
						ids[i] = r.str("id")
					case 422:
						ids[i] = "conflict"
					default:
						t.Errorf("twin got %d %s", r.status, r.raw)
					}
				})
			}
			wg.Wait()
			made := map[string]int{}
			for _, id := range ids {
				made[id]++
			}
			if len(made) != 2 || made["conflict"] != n/2 {
				t.Errorf("twins got %v, want one id and %d conflicts", made, n/2)
			}
			list := p.want(p.call(access.Primary, "GET", "/notebooks", "", ""), 200, "")
			if got := len(list.body["notebooks"].([]any)); got != 1 {
				t.Errorf("%d notebooks exist, want 1", got)
			}
		})
	}
}

func TestWalkIsBoundToItsFirstPage(t *testing.T) {
	for name, open := range stores(t) {
		t.Run(name, func(t *testing.T) {
			p := start(t, open(t), nil)
			nb := p.notebook("walk")
			path := "/notebooks/" + nb + "/notes"
			for i := range 7 {
				p.want(p.call(access.Primary, "POST", path, fmt.Sprintf("n%d", i), fmt.Sprintf(`{"text":"t%d","label":"walk"}`, i)), 201, "")
			}
			for _, sort := range []string{"oldest", "newest"} {
				var texts []string
				after := ""
				for page := 0; page < 10; page++ {
					r := p.want(p.call(access.Primary, "GET", path+"?page_size=3&sort="+sort+after, "", ""), 200, "")
					for _, it := range r.body["notes"].([]any) {
						texts = append(texts, it.(map[string]any)["text"].(string))
					}
					p.want(p.call(access.Primary, "POST", path, fmt.Sprintf("late-%s-%d", sort, page), `{"text":"late","label":"late"}`), 201, "")
					if r.str("next") == "" {
						if _, there := r.body["next"]; there {
							t.Error("the last page has a next member")
						}
						break
					}
					after = "&after=" + r.str("next")
				}
				seen := fmt.Sprint(texts)
				want := "[t0 t1 t2 t3 t4 t5 t6]"
				if sort == "newest" {
					want = "[late late late t6 t5 t4 t3 t2 t1 t0]"
				}
				if seen != want {
					t.Errorf("sort=%s: walk saw %s, want %s", sort, seen, want)
				}
			}
			r := p.want(p.call(access.Primary, "GET", path+"?page_size=1", "", ""), 200, "")
			next := "&after=" + r.str("next")
			p.want(p.call(access.Primary, "GET", path+"?page_size=5"+next, "", ""), 200, "")
			p.want(p.call(access.Primary, "GET", path+"?label=walk"+next, "", ""), 400, "PAGE_UNKNOWN")
			p.want(p.call(access.Primary, "GET", path+"?sort=newest"+next, "", ""), 400, "PAGE_UNKNOWN")
			p.want(p.call(access.SecondClient, "GET", path+"?page_size=1"+next, "", ""), 400, "PAGE_UNKNOWN")
			p.want(p.call(access.Primary, "GET", "/notebooks?page_size=1"+next, "", ""), 400, "PAGE_UNKNOWN")
			p.want(p.call(access.Primary, "GET", path+"?after=", "", ""), 400, "PAGE_UNKNOWN")
			p.want(p.call(access.Primary, "GET", path+"?page_size=x", "", ""), 400, "PARAMETER_INVALID")
			p.want(p.call(access.Primary, "GET", path+"?page_size=999", "", ""), 200, "")
			p.want(p.call(access.Primary, "GET", path+"?size=1", "", ""), 400, "PARAMETER_INVALID")
			p.want(p.call(access.Primary, "GET", path+"?sort=newest&sort=newest", "", ""), 400, "PARAMETER_INVALID")
		})
	}
}

func (p *peer) await(id, phase string) reply {
	p.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		r := p.want(p.call(access.Primary, "GET", "/exports/"+id, "", ""), 200, "")
		if r.str("phase") == phase {
			return r
		}
	}
	p.t.Fatalf("export %s did not become %s", id, phase)
	return reply{}
}

func TestJobToTheEnd(t *testing.T) {
	for name, open := range stores(t) {
		t.Run(name, func(t *testing.T) {
			p := start(t, open(t), nil)
			nb := p.notebook("jobs")
			made := p.want(p.call(access.Primary, "POST", "/exports", "x1", `{"notebook_id":"`+nb+`","format":"text"}`), 202, "")
			id := made.str("export_id")
			if made.str("phase") != "queued" || made.header.Get("Location") != "/exports/"+id || made.str("created_at") == "" {
				t.Errorf("accepted: %s, Location %q", made.raw, made.header.Get("Location"))
			}
			done := p.await(id, "done")
			file := p.want(p.call(access.Primary, "GET", "/files/"+done.str("file"), "", ""), 200, "")
			if file.str("file_id") != done.str("file") || file.str("content", "form") == "" {
				t.Errorf("file: %s", file.raw)
			}
			again := p.want(p.call(access.Primary, "POST", "/exports", "x1", `{"notebook_id":"`+nb+`","format":"text"}`), 202, "")
			if !bytes.Equal(again.raw, made.raw) {
				t.Errorf("replay of an admission: %s, want %s", again.raw, made.raw)
			}
			if r := p.want(p.call(access.Primary, "DELETE", "/exports/"+id, "", ""), 200, ""); r.str("phase") != "done" {
				t.Errorf("cancelling an ended job: %s", r.raw)
			}
			p.want(p.call(access.Primary, "POST", "/exports", "", `{"notebook_id":"nobody","format":"text"}`), 404, "NO_SUCH_THING")
		})
	}
}

func TestHeldFailedCancelled(t *testing.T) {
	p := start(t, memory.New(), nil)
	nb := p.notebook("jobs")
	control, _ := p.server.Control()
	body := `{"notebook_id":"` + nb + `","format":"text"}`
	if err := control.HoldNext(t.Context(), access.Limited, 2); err != nil {
		t.Fatal(err)
	}
	a := p.want(p.call(access.Limited, "POST", "/exports", "a", body), 202, "").str("export_id")
	b := p.want(p.call(access.Limited, "POST", "/exports", "b", body), 202, "").str("export_id")
	refused := p.want(p.call(access.Limited, "POST", "/exports", "c", body), 429, "TOO_MANY_EXPORTS")
	if refused.header.Get("Try-Again-After") == "" {
		t.Error("429 without Try-Again-After")
	}
	for range 2 {
		if r := p.want(p.call(access.Limited, "DELETE", "/exports/"+a, "", ""), 200, ""); r.str("phase") != "stopped" || r.str("file") != "" {
			t.Errorf("stopped: %s", r.raw)
		}
	}
	if err := control.FailNext(t.Context(), "", "DISK_FULL", 1); err != nil {
		t.Fatal(err)
	}
	c := p.want(p.call(access.Limited, "POST", "/exports", "c", body), 202, "").str("export_id")
	if r := p.await(c, "broken"); r.str("fault") != "DISK_FULL" || r.str("file") != "" {
		t.Errorf("failed: %s", r.raw)
	}
	if r := p.want(p.call(access.Primary, "GET", "/exports/"+b, "", ""), 200, ""); r.str("phase") != "queued" {
		t.Errorf("held: %s", r.raw)
	}
	if err := control.Release(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	p.await(b, "done")
	if r := p.want(p.call(access.Primary, "GET", "/exports/"+a, "", ""), 200, ""); r.str("phase") != "stopped" {
		t.Errorf("a stopped job went on: %s", r.raw)
	}
}
