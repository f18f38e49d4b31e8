package route_test

import (
	"maps"
	"strings"
	"testing"

	"assay.kit/spec/route"
)

func TestMatch(t *testing.T) {
	table, err := route.New([]string{
		"/", "/v1/jobs", "/v1/jobs/{job_id}", "/v1/jobs/latest", "/v1/jobs/{job_id}/cancellation",
		"/a/{x}/c", "/a/b/{y}", "/a/{x}:cancel", "/a/{x}.json", "/a/{x}", "/a/v{major}.{minor}",
		"/t/", "/sp ace/{v}", "/p/{a}-{b}-{c}", "/caf%C3%A9", "/q/{x}/{y}",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, template string
		params         map[string]string
	}{
		{"/", "/", nil},
		{"/v1/jobs", "/v1/jobs", nil},
		{"/v1/jobs/", "", nil}, // a parameter is not empty, and a trailing slash is another path
		{"/v1/jobs/1", "/v1/jobs/{job_id}", map[string]string{"job_id": "1"}},
		{"/v1/jobs/latest", "/v1/jobs/latest", nil},
		{"/v1/jobs/latest/cancellation", "/v1/jobs/{job_id}/cancellation", map[string]string{"job_id": "latest"}},
		{"/v1/jobs/a%2Fb", "/v1/jobs/{job_id}", map[string]string{"job_id": "a/b"}},
		{"/v1/jobs/%25", "/v1/jobs/{job_id}", map[string]string{"job_id": "%"}},
		{"/v1/jobs/%zz", "", nil},
		{"/v1/jobs/a/b", "", nil},
		{"/v1/%6Aobs", "", nil}, // no normalisation here
		{"/v1/./jobs", "", nil},
		{"/v1//jobs", "", nil},
		{"//", "", nil},
		{"", "", nil},
		{"v1/jobs", "", nil},
		{"/a/b/c", "/a/b/{y}", map[string]string{"y": "c"}}, // the literal goes first
		{"/a/z/c", "/a/{x}/c", map[string]string{"x": "z"}},
		{"/a/z:cancel", "/a/{x}:cancel", map[string]string{"x": "z"}},
		{"/a/:cancel", "/a/{x}", map[string]string{"x": ":cancel"}},
		{"/a/z.json", "/a/{x}.json", map[string]string{"x": "z"}},
		{"/a/z.json.json", "/a/{x}.json", map[string]string{"x": "z.json"}},
		{"/a/v1.2", "/a/v{major}.{minor}", map[string]string{"major": "1", "minor": "2"}},
		{"/a/v1.2.3", "/a/v{major}.{minor}", map[string]string{"major": "1", "minor": "2.3"}},
		{"/a/v.2", "/a/{x}", map[string]string{"x": "v.2"}},
		{"/t/", "/t/", nil},
		{"/t", "", nil},
		{"/sp%20ace/x", "/sp ace/{v}", map[string]string{"v": "x"}},
		{"/p/1-2-3", "/p/{a}-{b}-{c}", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"/p/--1-2-3", "/p/{a}-{b}-{c}", map[string]string{"a": "-", "b": "1", "c": "2-3"}},
		{"/p/1-2", "", nil},
		{"/caf%C3%A9", "/caf%C3%A9", nil},
		{"/q/1/2", "/q/{x}/{y}", map[string]string{"x": "1", "y": "2"}},
		{"/q/1/", "", nil},
	} {
		got, params, ok := table.Match(c.path)
		if got != c.template || ok != (c.template != "") || !maps.Equal(params, c.params) {
			t.Errorf("%q matches %q %v (%v), want %q %v", c.path, got, params, ok, c.template, c.params)
		}
	}
}

// TestBacktrack: a literal that leads nowhere does not hide a pattern, on several levels.
func TestBacktrack(t *testing.T) {
	table, err := route.New([]string{"/a/b/c/d", "/a/{x}/c/{y}/e", "/{r}/b/c/x"})
	if err != nil {
		t.Fatal(err)
	}
	if got, params, _ := table.Match("/a/b/c/d/e"); got != "/a/{x}/c/{y}/e" || params["x"] != "b" || params["y"] != "d" {
		t.Errorf("matches %q %v", got, params)
	}
	if got, params, _ := table.Match("/a/b/c/x"); got != "/{r}/b/c/x" || params["r"] != "a" || len(params) != 1 {
		t.Errorf("matches %q %v", got, params)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		templates []string
		want      string
	}{
		{[]string{"a"}, "start with /"},
		{[]string{""}, "start with /"},
		{[]string{"/a/{x"}, "needs {name}"},
		{[]string{"/a/{}"}, "needs {name}"},
		{[]string{"/a/{x{y}}"}, "needs {name}"},
		{[]string{"/a/x}"}, "without a {"},
		{[]string{"/a/{x}{y}"}, "in touch"},
		{[]string{"/a/{x}/b/{x}"}, "twice"},
		{[]string{"/a", "/a"}, "same requests"},
		{[]string{"/a/{x}", "/a/{y}"}, "same requests"},
		{[]string{"/a/{x}.json/b", "/a/{y}.json/b"}, "same requests"},
	} {
		if _, err := route.New(c.templates); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error is %v, want %q", c.templates, err, c.want)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/a/{x}.json", "/a/b.json")
	f.Add("/{a}-{b}/c", "/1-2/c")
	f.Add("/{a}", "/%zz")
	f.Fuzz(func(t *testing.T, template, path string) {
		table, err := route.New([]string{template})
		if err != nil {
			return
		}
		got, params, ok := table.Match(path)
		if !ok {
			return
		}
		if got != template || !strings.HasPrefix(path, "/") {
			t.Fatalf("%q matches %q of %q", path, got, template)
		}
		if strings.Count(path, "/") != strings.Count(template, "/") {
			t.Fatalf("%q and %q differ in segments", path, template)
		}
		for name, v := range params {
			if v == "" || !strings.Contains(template, "{"+name+"}") {
				t.Fatalf("parameter %q=%q of %q", name, v, template)
			}
		}
	})
}
