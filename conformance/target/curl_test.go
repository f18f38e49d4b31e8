package target

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay.kit/conformance/wire"
)

// fakeCurl prints its arguments, each ended by RS, and after US what it is given to read.
const fakeCurl = `curl() { for a in "$@"; do printf '%s\036' "$a"; done; case "$*" in *@-*) printf '\037'; cat;; esac; }` + "\n"

// inShell runs a line in every shell that is here and returns the arguments and the input of curl.
func inShell(t interface {
	Fatalf(string, ...any)
}, line string) (args []string, stdin string) {
	ran := 0
	for _, name := range []string{"sh", "dash", "bash", "busybox"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(path)
		if name == "busybox" {
			cmd = exec.Command(path, "sh")
		}
		cmd.Stdin = strings.NewReader(fakeCurl + line + "\n") // as it is pasted: no length is too much
		cmd.Env = []string{"ASSAY_TOKEN=tok-secret-1", "ASSAY_TOKEN_SECOND_CLIENT=tok-secret-2", "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %s: %v", name, line, err)
		}
		list, in, _ := strings.Cut(string(out), "\x1f")
		got := strings.Split(strings.TrimSuffix(list, "\x1e"), "\x1e")
		if ran++; ran > 1 && (strings.Join(got, "\x1e") != strings.Join(args, "\x1e") || in != stdin) {
			t.Fatalf("%s reads %s as %q and %q, others as %q and %q", name, line, got, in, args, stdin)
		}
		args, stdin = got, in
	}
	if ran == 0 {
		t.Fatalf("there is no shell on this machine")
	}
	return args, stdin
}

// after lists the arguments that follow a flag.
func after(args []string, flag string) (all []string) {
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			all = append(all, args[i+1])
		}
	}
	return all
}

// oddBodies are what a shell, printf, curl and a terminal each have a meaning for.
var oddBodies = []string{`{"a":1}`, `it's "quoted" $HOME \n`, "@file", "line\nbreak\n", "", "nul\x00byte", "\xff\xfe", "cr\r\nlf\r\n",
	"%d%%\\101 %s", "%s\x00%n\\0101\\", "\x1b[2J", "\u009b2J", "--head", "`id` $(id) ${x}", "\\", "'", "''\x00'", "!history", strings.Repeat("'", 50), "Zoë ☃", strings.Repeat("a", maxArgument)}

func TestCurlCarriesBodies(t *testing.T) {
	for _, body := range oddBodies {
		ex := wire.Exchange{Role: "primary", Req: wire.Request{Method: "POST", Target: "/v1/x", Body: []byte(body)}}
		line := Curl(ex, "http://h.example/base")
		args, stdin := inShell(t, line)
		raw := after(args, "--data-raw")
		if len(raw) == 1 && raw[0] != body || len(raw) == 0 && stdin != body {
			t.Errorf("%.200s sends %.80q or %.80q, not %.80q", line, raw, stdin, body)
		}
		if !strings.Contains(strings.Join(args, "|"), "-H|Content-Type:|") {
			t.Errorf("curl adds a content type of its own: %q", args)
		}
		if strings.ContainsAny(line, "\x00\x1b\xff") {
			t.Errorf("a byte that no report can hold is in %q", line)
		}
	}
	if args, _ := inShell(t, Curl(wire.Exchange{Req: wire.Request{Method: "GET", Target: "/"}}, "http://h")); strings.Contains(strings.Join(args, " "), "data") {
		t.Errorf("a request without body: %q", args)
	}
}

func TestCurlCarriesHeaders(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"X-Odd", `it's "$HOME" \ $(id)`, `X-Odd: it's "$HOME" \ $(id)`}, {"X-Empty", "", "X-Empty;"}, {"X-Bytes", "a\xff\x01b", "X-Bytes: a\xff\x01b"},
		{"X-Percent", "%s%%\x02", "X-Percent: %s%%\x02"}, {"X-Line", "a\nb", "X-Line: a\nb"}, {"X-@", "@x", "X-@: @x"},
		{"Authorization", "Bearer tok-secret-1", "Authorization: Bearer tok-secret-1"}, {"authorization", "bearer ***", "authorization: bearer tok-secret-1"},
		{"Authorization", "Bearer", "Authorization: Bearer"}, {"Authorization", "Basic ***", "Authorization: Basic ***"},
	} {
		ex := wire.Exchange{Role: "primary", Req: wire.Request{Method: "GET", Target: "/", Fields: []wire.Field{{Name: c.name, Value: c.value}}}}
		line := Curl(ex, "http://h")
		args, _ := inShell(t, line)
		if got := after(args, "-H"); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s gives %q, not %q", line, got, c.want)
		}
		if strings.Contains(line, "tok-secret-1") {
			t.Errorf("the token is in %s", line)
		}
	}
	ex := wire.Exchange{Role: "second_client", Req: wire.Request{Method: "GET", Target: "/", Fields: []wire.Field{{Name: "Authorization", Value: "Bearer ***"}}}}
	if args, _ := inShell(t, Curl(ex, "http://h")); after(args, "-H")[0] != "Authorization: Bearer tok-secret-2" {
		t.Errorf("the token of another role: %q", args)
	}
}

func TestCurlCarriesTargets(t *testing.T) {
	for _, c := range []struct{ base, target, url, raw string }{
		{"http://h.example/base", "/v1/it's?x=[1]&y=$z", "http://h.example/base/v1/it's?x=[1]&y=$z", ""},
		{"http://h/", "/a/../b/./%2e%2E//c", "http://h/a/../b/./%2e%2E//c", ""},
		{"http://h", "?x=1", "http://h?x=1", ""},
		{"http://h/base", "/a b#c\\d", "http://h/", "/base/a b#c\\d"},
		{"http://h", "/\xff\x01", "http://h/", "/\xff\x01"},
	} {
		line := Curl(wire.Exchange{Req: wire.Request{Method: "DELETE", Target: c.target}}, c.base)
		args, _ := inShell(t, line)
		raw := strings.Join(after(args, "--request-target"), "|")
		if args[len(args)-1] != c.url || raw != c.raw || after(args, "-X")[0] != "DELETE" {
			t.Errorf("%s gives %q", line, args)
		}
	}
}

func TestCurlSaysWhatItCannotDo(t *testing.T) {
	for want, rq := range map[string]wire.Request{
		"NUL":                   {Method: "GET", Target: "/", Fields: []wire.Field{{Name: "X", Value: "a\x00"}}},
		"12 further bytes":      {Method: "POST", Target: "/", Body: []byte("{}"), Left: 12},
		"curl -sS -i --http1.1": {Method: "HEAD", Target: "/"},
	} {
		if line := Curl(wire.Exchange{Req: rq}, "http://h"); !strings.Contains(line, want) {
			t.Errorf("%q is not in %s", want, line)
		}
	}
}

// Whatever the bytes, a shell gives them to curl.
func TestCurlCarriesAnyBytes(t *testing.T) {
	for seed := range 40 {
		body := rapid.SliceOfN(rapid.Byte(), 1, 40).Example(seed)
		value := strings.ReplaceAll(string(rapid.SliceOfN(rapid.Byte(), 1, 20).Example(seed)), "\x00", "0") + "."
		value = strings.NewReplacer("\x1e", "-", "\x1f", "-").Replace(value)
		body = []byte(strings.NewReplacer("\x1e", "-", "\x1f", "-").Replace(string(body)))
		line := Curl(wire.Exchange{Req: wire.Request{Method: "PUT", Target: "/", Body: body, Fields: []wire.Field{{Name: "X-Any", Value: value}}}}, "http://h")
		args, stdin := inShell(t, line)
		if raw := after(args, "--data-raw"); len(raw) == 1 && raw[0] != string(body) || len(raw) == 0 && stdin != string(body) {
			t.Fatalf("%s sends %q or %q, not %q", line, raw, stdin, body)
		}
		for _, h := range after(args, "-H") {
			if strings.HasPrefix(h, "X-Any: ") && h != "X-Any: "+value {
				t.Fatalf("%s sends %q, not %q", line, h, value)
			}
		}
	}
}
