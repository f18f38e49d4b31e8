package target

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/wire"
)

func writeCA(t *testing.T, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRedact(t *testing.T) {
	const token = "s3cr/et+to=ken"
	p := &Profile{Credentials: map[string]Credential{"primary": {Bearer: NewSecret(token)}, "limited": {Bearer: NewSecret("abc")}},
		Headers: []Header{{Name: "X-Gate", Secret: NewSecret("gate-secret")}}}
	forms := []string{token, url.QueryEscape(token), url.PathEscape(token), base64.StdEncoding.EncodeToString([]byte(token)),
		base64.RawURLEncoding.EncodeToString([]byte(token)), strings.ReplaceAll(token, "/", `\/`)}
	ex := wire.Exchange{
		Req: wire.Request{Target: "/x?t=" + url.QueryEscape(token) + "&u=abc", Body: []byte(`{"a":"` + strings.Join(forms, " ") + `","b":"abc"}`),
			Fields: []wire.Field{{Name: "authorization", Value: "Bearer " + token}, {Name: "Cookie", Value: "sid=1"}, {Name: "X-Any", Value: "abc gate-secret"}, {Name: "Mcp-Session-Id", Value: "m"}}},
		Head:   wire.Head{Status: 200, Fields: []wire.Field{{Name: "Set-Cookie", Value: "sid=1"}, {Name: "Location", Value: "/" + token}}},
		Events: []wire.Event{{Data: []byte("gate-secret " + token)}}, Err: "lost " + token,
	}
	before, _ := json.Marshal(ex)
	red := NewRedactor(p).Redact(ex)
	out, _ := json.Marshal(red)
	plain := string(out) + string(red.Req.Body) + string(red.Body())
	for _, secret := range append(forms, "gate-secret", "sid=1", `"m"`) {
		if strings.Contains(plain, secret) {
			t.Errorf("%s is in %s", secret, plain)
		}
	}
	if got := string(red.Req.Body); !strings.Contains(got, `"b":"abc"`) {
		t.Errorf("a short secret was looked for in the body: %s", got)
	}
	if got := red.Req.Fields[0].Value; got != "Bearer ***" {
		t.Errorf("Authorization became %q", got)
	}
	if got := red.Req.Fields[2].Value; got != "*** ***" {
		t.Errorf("X-Any became %q", got)
	}
	if after, _ := json.Marshal(ex); !bytes.Equal(before, after) {
		t.Error("the original was changed")
	}
	if red := NewRedactor(nil).Redact(wire.Exchange{Req: wire.Request{Body: []byte{}}}); red.Req.Body == nil {
		t.Error("an empty body became none")
	}
}

func TestHideCredentials(t *testing.T) {
	for in, want := range map[string]string{"": "", "Bearer": "Bearer", "Bearer ": "Bearer ", "Bearer x": "Bearer ***", "x": "***", "Basic a:b c": "Basic ***", "a-very-long-token-value x": "***"} {
		if got := hideCredentials(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestCommandCredential(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	script := fmt.Sprintf(`echo x >> %s; printf '{"access_token":"issued-%%s","expires_in":%%s}' $(wc -l < %s) 60`, count, count)
	p := &Profile{BaseURL: "http://h.example", Credentials: map[string]Credential{
		"primary": {Command: []string{"sh", "-c", script}}, "limited": {Command: []string{"sh", "-c", "echo secret-on-stdout; echo went wrong >&2; exit 3"}},
		"revoked": {Command: []string{"sh", "-c", "echo two words"}}}}
	r := caller(t, p, Options{})
	now := time.Now()
	r.tokens.now = func() time.Time { return now }
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "issued-1"}, {20 * time.Second, "issued-1"}, {20 * time.Second, "issued-2"}} {
		now = now.Add(step.after)
		got, err := r.Token(t.Context(), "primary")
		if err != nil || got.Reveal() != step.want {
			t.Fatalf("%v, %v, not %s", got.Reveal(), err, step.want)
		}
	}
	if got := r.Redactor().Text("x issued-1 y issued-2"); got != "x *** y ***" {
		t.Error(got)
	}
	if _, err := r.Token(t.Context(), "limited"); err == nil || !strings.Contains(err.Error(), "went wrong") || strings.Contains(err.Error(), "secret-on-stdout") {
		t.Errorf("%v", err)
	}
	if _, err := r.Token(t.Context(), "revoked"); err == nil || strings.Contains(err.Error(), "two words") {
		t.Errorf("%v", err)
	}
}

func TestReadToken(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"exp": 1000600}`))
	for _, c := range []struct {
		out, token string
		expires    time.Time
	}{
		{"plain\n", "plain", time.Time{}},
		{"h." + claims + ".s", "h." + claims + ".s", time.Unix(1_000_600, 0)},
		{`{"access_token": "a", "expires_in": 90, "token_type": "Bearer"}`, "a", now.Add(90 * time.Second)},
		{`{"token": "a"}`, "", time.Time{}}, {"", "", time.Time{}}, {"{", "", time.Time{}},
	} {
		k, err := readToken([]byte(c.out), now)
		if k.token.Reveal() != c.token || !k.expires.Equal(c.expires) || (err == nil) != (c.token != "") {
			t.Errorf("%q: %q, %v, %v", c.out, k.token.Reveal(), k.expires, err)
		}
	}
}

func TestHooks(t *testing.T) {
	var got []string
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		body, _ := io.ReadAll(rq.Body)
		got = append(got, rq.Method+" "+rq.URL.RequestURI()+" "+rq.Header.Get("Authorization")+string(body))
		if rq.URL.Path == "/bad" {
			http.Error(w, "no tok-secret-1 here", http.StatusConflict)
		}
	}))
	defer control.Close()
	file := filepath.Join(t.TempDir(), "out")
	p := profileFor("http://h.example")
	p.Hooks = map[Capability]Hook{
		AdvanceClock: {HTTP: &HTTPHook{Method: "POST", URL: control.URL + "/a?by={seconds}", Body: map[string]any{"seconds": "{seconds}", "list": []any{"{who}", json.Number("1")}}}},
		RetireToken:  {HTTP: &HTTPHook{Method: "PUT", URL: control.URL + "/b", Body: `{"n": {seconds}, "who": "{who}"}`}},
		HideItem:     {HTTP: &HTTPHook{Method: "POST", URL: control.URL + "/bad"}},
		HoldJob:      {Exec: []string{"sh", "-c", `printf '%s %s' "$1" "$ASSAY_WHO" > ` + file, "sh", "{seconds}"}},
		FailJob:      {Exec: []string{"sh", "-c", "echo one; echo why tok-secret-1 >&2; exit 4"}},
		// What a restart leaves running holds on to its output.
		Restart: {Exec: []string{"sh", "-c", "sleep 4 & echo started"}},
	}
	r := caller(t, p, Options{})
	args := map[string]string{"seconds": "60", "who": `a"b`}
	for _, c := range []Capability{AdvanceClock, RetireToken, HoldJob, Restart} {
		begun := time.Now()
		if err := r.RunHook(t.Context(), c, args); err != nil || time.Since(begun) > 3*time.Second {
			t.Errorf("%s: %v after %v", c, err, time.Since(begun))
		}
	}
	want := []string{`POST /a?by=60 {"list":["a\"b",1],"seconds":"60"}`, `PUT /b {"n": 60, "who": "a\"b"}`}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q", got)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != `60 a"b` {
		t.Errorf("%q, %v", b, err)
	}
	for c, want := range map[Capability]string{HideItem: "answered 409: no *** here", FailJob: "why ***", Unavailable: "has no hook"} {
		if err := r.RunHook(t.Context(), c, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", c, err)
		}
	}
	if err := r.RunHook(t.Context(), AdvanceClock, nil); err == nil || !strings.Contains(err.Error(), "{seconds}") && !strings.Contains(err.Error(), "{who}") || len(got) != 3 {
		t.Errorf("%v, %q", err, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.RunHook(ctx, HoldJob, args); err == nil {
		t.Error("a cancelled hook")
	}
}
