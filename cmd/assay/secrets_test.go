package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assay.kit/reference/store/memory"
)

// The secrets that the test plants, by where. Odd characters make the forms differ in which they travel.
func planted() map[string]string {
	return map[string]string{
		"PRIMARY":  `pri+/=<&"\'mary~0001`,
		"SECOND":   `sec+/=<&"\'ond~0002`,
		"COMMAND":  `com+/=<&mand~0003`,
		"HEADER":   `hea+/=<&"der~0004`,
		"COOKIE":   `coo+.~kie0005`,
		"LITERAL":  `lit+/<&eral~0006`,
		"VALUE":    `val-ue-0007`,
		"HOOK":     `hoo+/<&k~0008`,
		"API_KEY":  `inherited+/k~0009`,
		"HOOKHTTP": `hookhttp~0010`,
	}
}

const secretProfile = `base_url: %s
headers: {X-Tenant: "${HEADER}", Cookie: "session=${COOKIE}; theme=dark", X-Api-Key: '%s'}
credentials:
  primary: {bearer: "${PRIMARY}"}
  second_workspace: {bearer: "${SECOND}"}
  second_client: {command: [sh, -c, "echo \"$ASSAY_TEST_COMMAND\""]}
values: {label: "${VALUE}"}
hooks:
  restart: {exec: [sh, -c, "echo could not restart with $0 and $ASSAY_TEST_API_KEY >&2; exit 3", "${HOOK}"]}
  advance_clock: {http: {url: "%s/hook?seconds={seconds}&key=${HOOKHTTP}", body: {key: "${HOOKHTTP}"}}}
`

// echo passes requests on to a good server, and answers every third itself: with what it was sent, in
// every form and place that it can think of.
type echo struct {
	behind *served
	roles  map[string]string // planted token -> the token of the server behind
	mu     sync.Mutex
	n      int
	quiet  atomic.Bool // passes everything on
	seen   map[string]bool
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	secrets := []string{token, r.Header.Get("X-Tenant"), r.Header.Get("X-Api-Key"), r.URL.Query().Get("key")}
	if c, err := r.Cookie("session"); err == nil {
		secrets = append(secrets, c.Value)
	}
	e.mu.Lock()
	e.n++
	n := e.n
	for _, s := range secrets {
		e.seen[s] = true
	}
	e.mu.Unlock()
	s := secrets[n/3%len(secrets)]
	switch {
	case r.URL.Path == "/hook":
		http.Error(w, "no: "+strings.Join(secrets, " ")+" "+string(body), 500)
	case e.quiet.Load() || n%3 > 0 || s == "":
		e.pass(w, r, body, token)
	default:
		e.tell(w, n, s)
	}
}

func (e *echo) pass(w http.ResponseWriter, r *http.Request, body []byte, token string) {
	rq, err := http.NewRequestWithContext(r.Context(), r.Method, e.behind.baseURL+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, "{}", 400)
		return
	}
	rq.Header = r.Header.Clone()
	if own := e.roles[token]; own != "" {
		rq.Header.Set("Authorization", "Bearer "+own)
	}
	rs, err := http.DefaultTransport.RoundTrip(rq)
	if err != nil {
		http.Error(w, "{}", 502)
		return
	}
	defer func() { _ = rs.Body.Close() }()
	for k, v := range rs.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(rs.StatusCode)
	_, _ = io.Copy(w, rs.Body)
}

func (e *echo) tell(w http.ResponseWriter, n int, s string) {
	h := w.Header()
	h.Set("Request-Id", s+fmt.Sprint(n))
	h.Set("Location", "/exports/"+url.PathEscape(s))
	h.Set("X-Echo", s)
	h.Set("Set-Cookie", "session="+s)
	h.Set("Www-Authenticate", "Bearer token="+s)
	h.Set("Content-Type", []string{"application/json", "text/html", "application/problem+json"}[n%9/3])
	if !strings.ContainsAny(s, " <>@,;:\\\"/[]?={}()") {
		h[s] = []string{"a name"}
	}
	w.WriteHeader([]int{200, 201, 202, 200, 400, 401, 404, 409, 422, 500}[n/3%10])
	cursor := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", n%5) + s + "|after"))
	answer := map[string]any{"id": s, "note_id": cursor, "export_id": url.QueryEscape(s), "phase": s, "file": s, "notes": []any{}, "notebooks": []any{s},
		"next": cursor, "hex": hex.EncodeToString([]byte(s)), "nested": fmt.Sprintf("%q", s), "error": map[string]any{"code": s, "trace": s}}
	text, _ := json.Marshal(answer)
	switch n / 3 % 4 {
	case 0: // where a text is cut that quotes the answer
		text = []byte(strings.Repeat("a", 140+n/12%20) + s + string(text))
	case 1:
		text = append([]byte(s), text...)
	case 2:
		text = append([]byte("\xff\x1b[2J"), s...)
	}
	_, _ = w.Write(text)
}

// No secret is in any output of a run in which everything fails and everything is told back.
func TestNoSecretInAnyOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("hooks are shell lines here; their part is not tried on this system")
	}
	secrets := planted()
	e := &echo{seen: map[string]bool{}, behind: notesServer(t)}
	own := e.behind.profile.Credentials
	e.roles = map[string]string{secrets["PRIMARY"]: own["primary"].Bearer.Reveal(), secrets["SECOND"]: own["second_workspace"].Bearer.Reveal(), secrets["COMMAND"]: own["second_client"].Bearer.Reveal()}
	server := httptest.NewServer(e)
	defer server.Close()
	var env []string
	for name, value := range secrets {
		env = append(env, name+"="+value)
		t.Setenv("ASSAY_TEST_"+name, value)
	}
	dir := t.TempDir()
	profile := write(t, t.TempDir(), "p.yaml", fmt.Sprintf(secretProfile, server.URL, secrets["LITERAL"], server.URL))
	outputs := map[string]string{}
	args := []string{"check", "--profile", profile, "--contract", "notes", "--seed", "5", "--effort", "quick", "--time", "15s", "--report", filepath.Join(dir, "report.json")}
	if help := assay(t.Context(), []string{"check", "--help"}); strings.Contains(help.out+help.err, "--out ") {
		args = append(args, "--out", filepath.Join(dir, "out"))
	}
	for _, format := range []string{"text", "json"} {
		r := assay(t.Context(), append(args, "--format", format), env...)
		if r.code != exitViolations {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
		outputs["stdout "+format], outputs["stderr "+format] = r.out, r.err
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				b, err := os.ReadFile(path)
				outputs[strings.TrimPrefix(path, dir)+" "+format] = string(b)
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	e.quiet.Store(true) // or no case comes as far as to the hooks that fail
	r := assay(t.Context(), append(args, "--only", "durability*", "--only", "expiry*", "--format", "json"), env...)
	outputs["stdout hooks"], outputs["stderr hooks"] = r.out, r.err
	for _, name := range []string{"PRIMARY", "SECOND", "COMMAND", "HEADER", "COOKIE", "LITERAL", "HOOKHTTP"} {
		if !e.seen[secrets[name]] {
			t.Errorf("%s was never sent, so nothing was tried", name)
		}
	}
	if text := outputs["stdout hooks"]; !strings.Contains(text, "could not restart with ***") {
		t.Error("the failure of the hook is not told")
	}
	for where, text := range outputs {
		for name, secret := range secrets {
			for form, s := range formsOf(secret) {
				if i := strings.Index(text, s); i >= 0 {
					t.Errorf("%s (%s) is in %s: %q", name, form, where, text[max(0, i-200):min(len(text), i+60)])
				}
			}
		}
	}
}

func notesServer(t *testing.T) *served {
	t.Helper()
	ct, err := loadContract("notes")
	if err != nil {
		t.Fatal(err)
	}
	ref, err := start(t.Context(), serving{contract: ct, store: memory.New(), credentials: 1, addr: loopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ref.stop)
	return ref
}

// formsOf is written a second time, apart from what hides them.
func formsOf(s string) map[string]string {
	quoted, _ := json.Marshal(s)
	twice, _ := json.Marshal(string(quoted))
	percent := ""
	for _, c := range []byte(s) {
		percent += fmt.Sprintf("%%%02X", c)
	}
	out := map[string]string{
		"plain": s, "beginning": s[:9], "query": url.QueryEscape(s), "path": url.PathEscape(s),
		"lower query": strings.NewReplacer("%2B", "%2b", "%2F", "%2f", "%3D", "%3d", "%3C", "%3c").Replace(url.QueryEscape(s)),
		"JSON":        string(quoted[1 : len(quoted)-1]), "JSON in JSON": string(twice[3 : len(twice)-3]), "percent": percent,
		"hex": hex.EncodeToString([]byte(s)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(s))),
		"base64": base64.StdEncoding.EncodeToString([]byte(s)), "base64url": base64.URLEncoding.EncodeToString([]byte(s)),
	}
	for before := range 3 { // all that the secret alone decides of a longer text's base64
		for name, e := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			a := e.EncodeToString([]byte(strings.Repeat("\x00", before) + s + "\x00"))
			b := e.EncodeToString([]byte(strings.Repeat("\xff", before) + s + "\xff"))
			from := 0
			for a[from] != b[from] {
				from++
			}
			to := from
			for to < len(a) && a[to] == b[to] {
				to++
			}
			out[fmt.Sprintf("%s after %d", name, before)] = a[from:to]
		}
	}
	return out
}
