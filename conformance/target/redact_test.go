package target

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"assay.kit/conformance/wire"
	"pgregory.net/rapid"
)

// However a text goes on around a secret, and wherever it is cut, no more of it shows than its first
// few characters.
func TestTextHidesSecretsInOtherTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Z][!-~]{14,30}[0-9]`).Draw(t, "secret")
		r := NewRedactor(&Profile{Credentials: map[string]Credential{"primary": {Bearer: NewSecret(secret)}}})
		before, after := rapid.StringMatching(`[ -~]{0,4}`).Draw(t, "before"), rapid.StringMatching(`[ -~]{0,4}`).Draw(t, "after")
		whole := []byte(before + secret + after)
		for name, coded := range map[string]string{"hex": hex.EncodeToString(whole), "base64": base64.StdEncoding.EncodeToString(whole), "base64url": base64.RawURLEncoding.EncodeToString(whole)} {
			if got := r.Text(`{"next":"` + coded + `"}`); !strings.Contains(got, hidden) {
				t.Errorf("%s of %q: %q", name, whole, got)
			}
		}
		n := rapid.IntRange(shortCut, len(secret)-1).Draw(t, "cut")
		for _, end := range []string{"", "…", `"`, "' and more", `", "x": 1`} {
			if got := r.Text("200 " + secret[:n] + end); strings.Contains(got, secret[:shortCut]) {
				t.Errorf("cut after %d before %q: %q", n, end, got)
			}
		}
		if text := "200 " + secret[:shortCut] + " is another word"; r.Text(text) != text {
			t.Errorf("what only begins like a secret is hidden: %q", r.Text(text))
		}
	})
}

func TestRedactNamesOfFieldsAndWhatVariablesGive(t *testing.T) {
	env := map[string]string{"KEY": "abcdefgh1234", "SESSION": "session-value-1", "VALUE": "value-of-ours", "HOOK": "hook-secret-9"}
	p, err := Parse("p.yaml", []byte(`base_url: http://127.0.0.1:1
headers: {X-Key: "k=${KEY}", Cookie: "s=${SESSION}; theme=dark-theme", X-Auth: literal-key, X-Tenant: literal-tenant}
values: {label: "${VALUE}"}
hooks: {restart: {exec: ["restart", "${HOOK}"]}}
`), func(n string) (string, bool) { v, ok := env[n]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	r := NewRedactor(p)
	for _, v := range env {
		if got := r.Text("(" + v + ")"); got != "(***)" {
			t.Errorf("%q", got)
		}
	}
	if got := r.Text("literal-key dark-theme literal-tenant"); got != "*** *** ***" {
		t.Errorf("%q", got)
	}
	ex := r.Redact(wire.Exchange{Head: wire.Head{Fields: []wire.Field{{Name: "x-abcdefgh1234", Value: "1"}}}})
	if got := ex.Head.Fields[0].Name; got != "x-***" {
		t.Errorf("%q", got)
	}
	got := NewRedactor(nil)
	got.Add(fromEnvironment([]string{"MY_TOKEN=from-the-environment", "PATH=/usr/local/bin", "API_KEY=short"})...)
	if s := got.Text("from-the-environment /usr/local/bin short"); s != "*** /usr/local/bin short" {
		t.Errorf("%q", s)
	}
}
