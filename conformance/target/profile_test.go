package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.kit/spec"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

const whole = `contract: seer
base_url: ${BASE}/api/
mcp_url: auto
tls: {ca: ca.pem, cert: c.pem, key: k.pem}
headers:
  X-Tenant: plain
  X-Gate: "${GATE}"
absent: [listEvents]
sandbox: true
credentials:
  primary: {bearer: "${TOKEN}"}
  second_client: {bearer: literal-token}
  limited: {command: [issue, --for, limited]}
  rotated:
    old: {bearer: old-token}
    new: {bearer: new-token}
values:
  instrumentId: "equity:listing:apple-common-xnas"
  big: 12345678901234567890.10
  hex: 0x1f
  nested: {list: [1, "x", null, true], price: "$${5}"}
hooks:
  restart: {exec: ["./restart.sh"]}
  advance_clock: {http: {url: "http://127.0.0.1:1/advance", body: {seconds: "{seconds}"}}}
budget: {requests: 20000, rate: 600/m, time: 10m, jobs: 64}
`

func loadWhole(t *testing.T) *Profile {
	t.Helper()
	p, err := Parse("p.yaml", []byte(whole), env("BASE", "https://h.example:8443", "GATE", "gate-secret", "TOKEN", "tok-secret-1"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProfile(t *testing.T) {
	p := loadWhole(t)
	if p.BaseURL != "https://h.example:8443/api" || p.Contract != "seer" || p.MCPURL != "auto" || !p.Sandbox {
		t.Errorf("%+v", p)
	}
	want := []Capability{Primary, SecondClient, Rotated, Limited, Restart, AdvanceClock, Sandbox, MCP}
	if got := p.Capabilities(); !slices.Equal(got, want) {
		t.Errorf("capabilities %v", got)
	}
	for _, role := range []string{"primary", RotatedOld, RotatedNew} {
		if !p.HasRole(role) || !slices.Contains(Roles(), role) {
			t.Errorf("no role %s", role)
		}
	}
	if p.HasRole("rotated") || p.Has("nonsense") {
		t.Error("an unknown role or capability")
	}
	if got := p.Credentials["primary"].Bearer.Reveal(); got != "tok-secret-1" {
		t.Errorf("primary is %q", got)
	}
	values := map[string]any{"instrumentId": "equity:listing:apple-common-xnas", "big": json.Number("12345678901234567890.10"), "hex": json.Number("31"),
		"nested": map[string]any{"list": []any{json.Number("1"), "x", nil, true}, "price": "${5}"}}
	if !reflect.DeepEqual(p.Values, values) {
		t.Errorf("values %v", p.Values)
	}
	if p.Budget != (Budget{Requests: 20000, Rate: 10, Time: 10 * time.Minute, Jobs: 64}) {
		t.Errorf("budget %+v", p.Budget)
	}
}

func TestProfileWritesWhatItReads(t *testing.T) {
	p := loadWhole(t)
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "tok-secret-1") || strings.Contains(out.String(), "gate-secret") {
		t.Errorf("a variable's value was written:\n%s", out.String())
	}
	q, err := Parse("q.yaml", out.Bytes(), env("BASE", "x", "GATE", "gate-secret", "TOKEN", "tok-secret-1"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var again bytes.Buffer
	if err := q.Write(&again); err != nil || again.String() != out.String() {
		t.Errorf("%v\n%s\nbecame\n%s", err, out.String(), again.String())
	}
	for role, c := range p.Credentials {
		if d := q.Credentials[role]; d.Bearer.Reveal() != c.Bearer.Reveal() || !slices.Equal(d.Command, c.Command) {
			t.Errorf("credential %s", role)
		}
	}
	if !reflect.DeepEqual(p.Values, q.Values) || p.Budget != q.Budget || !reflect.DeepEqual(p.Hooks, q.Hooks) || p.TLS != q.TLS || !slices.Equal(p.Absent, q.Absent) {
		t.Errorf("%+v\nbecame\n%+v", p, q)
	}
}

func TestProfileErrors(t *testing.T) {
	const base = "base_url: http://h.example\n"
	for _, c := range []struct{ text, want string }{
		{"", "p.yaml:1: the profile is empty"},
		{"contract: seer\n", "base_url is missing"},
		{"base_ur: http://h\n", `p.yaml:1: unknown member of the profile "base_ur"; did you mean "base_url"?`},
		{base + "sandbox: yes\n", "p.yaml:2: sandbox must be true or false"},
		{base + "sandbox: true\nsandbox: true\n", `p.yaml:3: the profile: "sandbox" is given twice`},
		{"base_url: ${NOPE}\n", "p.yaml:1: variable NOPE is not set"},
		{"base_url: ${EMPTY}\n", "p.yaml:1: variable EMPTY is not set"},
		{base + "contract: ${no\n", "p.yaml:2: a ${ without a variable name and }"},
		{"base_url: ftp://h\n", `scheme "ftp" is neither http nor https`},
		{"base_url: http://u:pass@h\n", "it carries credentials"},
		{"base_url: http://h/?a=b\n", "it carries a query or fragment"},
		{"base_url: http://h/#x\n", "it carries a query or fragment"},
		{"base_url: http:///x\n", "it names no host"},
		{"base_url: ' http://h'\n", "no URL"},
		{base + "credentials: {secondworkspace: {bearer: x}}\n", `did you mean "second_workspace"?`},
		{base + "credentials: {primary: {bearer: x, command: [y]}}\n", "exactly one of bearer and command"},
		{base + "credentials: {primary: {}}\n", "exactly one of bearer and command"},
		{base + "credentials: {primary: {command: []}}\n", "the command is empty"},
		{base + "credentials: {primary: {bearer: 'a b'}}\n", "position 2"},
		{base + "credentials: {rotated: {old: {bearer: x}}}\n", "needs both old and new"},
		{base + "hooks: {restrt: {exec: [x]}}\n", `did you mean "restart"?`},
		{base + "hooks: {restart: {http: {url: ftp://x}}}\n", "url must start with http"},
		{base + "headers: {Authorization: x}\n", "Authorization comes from credentials"},
		{base + "headers: {'a b': x}\n", "is no header name"},
		{base + "budget: {rate: 5}\n", "is no rate"},
		{base + "budget: {requests: 0}\n", "whole number above 0"},
		{base + "budget: {time: soon}\n", "is no duration"},
		{base + "tls: {cert: x}\n", "belong together"},
		{base + "values: {a: &x 1, b: *x}\n", "anchors and aliases"},
		{base + "absent: listEvents\n", "absent must be a list"},
		{base + "\tx", "p.yaml: no YAML"},
	} {
		_, err := Parse("p.yaml", []byte(c.text), env("EMPTY", ""))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, not %q", c.text, err, c.want)
		}
	}
	_, err := Parse("p.yaml", []byte("base_url: http://h\ncontrat: x\nsandbox: 1\nbudgt: {}\n"), nil)
	if err == nil || strings.Count(err.Error(), "p.yaml:") != 3 {
		t.Errorf("not all errors at once: %v", err)
	}
}

func TestErrorsNeverShowSecrets(t *testing.T) {
	for _, text := range []string{
		"base_url: http://user:hunter2secret@h\n",
		"base_url: 'http://hunter2secret:%zz@h'\n",
		"base_url: http://h\ncredentials: {primary: {bearer: 'hunter2secret x'}}\n",
	} {
		if _, err := Parse("p.yaml", []byte(text), nil); err == nil || strings.Contains(err.Error(), "hunter2secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	p := loadWhole(t)
	texts := []string{fmt.Sprint(p), fmt.Sprintf("%+v", p), fmt.Sprintf("%#v", p), fmt.Sprintf("%v %s %q", p.Credentials, p.Headers, p.Credentials["primary"].Bearer)}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		texts = append(texts, fmt.Sprintf(format, *p), fmt.Sprintf(format, p.Credentials["primary"]))
	}
	encoded, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "profile", p.Credentials["primary"].Bearer, "credential", p.Credentials["second_client"])
	for _, s := range append(texts, string(encoded), log.String()) {
		for _, secret := range []string{"tok-secret-1", "gate-secret", "literal-token", fmt.Sprintf("%x", "tok-secret-1")} {
			if strings.Contains(s, secret) {
				t.Errorf("%s shows %s", s, secret)
			}
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	c := &spec.Contract{Name: "seer", Doc: spec.DocTraits{BaseURLEnv: "SEER_API_BASE_URL", TokenEnv: "SEER_ACCESS_TOKEN"}}
	p, err := FromEnvironment(c, "", env("SEER_API_BASE_URL", "http://h.example/x/", "SEER_ACCESS_TOKEN", "tok-secret-1"))
	if err != nil || p.BaseURL != "http://h.example/x" || p.Credentials["primary"].Bearer.Reveal() != "tok-secret-1" {
		t.Fatalf("%v, %v", p, err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil || !strings.Contains(out.String(), `"${SEER_ACCESS_TOKEN}"`) {
		t.Errorf("%v\n%s", err, out.String())
	}
	if p, err := FromEnvironment(c, "http://other", env("SEER_ACCESS_TOKEN", "t")); err != nil || p.BaseURL != "http://other" {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := FromEnvironment(c, "", env("SEER_ACCESS_TOKEN", "t")); err == nil || !strings.Contains(err.Error(), "SEER_API_BASE_URL is not set") {
		t.Errorf("%v", err)
	}
	if _, err := FromEnvironment(c, "http://h", env()); err == nil || !strings.Contains(err.Error(), "SEER_ACCESS_TOKEN is not set") {
		t.Errorf("%v", err)
	}
}

func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	if _, err := Load(file, nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(file, []byte("base_url: http://h\nnope: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file, nil); err == nil || !strings.Contains(err.Error(), file+":2:") {
		t.Errorf("%v", err)
	}
}

func TestEveryCapabilityHasItsWords(t *testing.T) {
	for _, c := range AllCapabilities() {
		if got, err := ParseCapability(string(c)); got != c || err != nil || c.Means() == "" || !strings.Contains(c.Unlock(), string(c)) {
			t.Errorf("%s: %v, %q, %q", c, err, c.Means(), c.Unlock())
		}
	}
	if _, err := ParseCapability("advance_clok"); err == nil || !strings.Contains(err.Error(), `"advance_clock"`) {
		t.Errorf("%v", err)
	}
}

func FuzzProfile(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("base_url: http://h\nvalues: {a: [1, 1e5, .inf, 0x1F, 2001-01-01]}\n"))
	f.Add([]byte("base_url: https://h\ntls: {insecure: true, ca: x}\nproxy: http://u:p@h:1/\ncredentials: {primary: {command: [x], refresh: 5m}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("p", data, env("BASE", "http://h", "GATE", "g", "TOKEN", "t"))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatalf("%q cannot be written: %v", data, err)
		}
		q, err := Parse("q", out.Bytes(), env("BASE", "http://h", "GATE", "g", "TOKEN", "t"))
		if err != nil {
			t.Fatalf("%q was written as %q, which is refused: %v", data, out.String(), err)
		}
		if !reflect.DeepEqual(p.Values, q.Values) || p.BaseURL != q.BaseURL {
			t.Fatalf("%q was written as %q", data, out.String())
		}
	})
}
