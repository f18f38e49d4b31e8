package access_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay.kit/reference/core/access"
	"assay.kit/spec"
)

func contract() *spec.Contract {
	return &spec.Contract{
		Name: "c",
		Ops:  []*spec.Operation{{ID: "list", Scopes: []string{"b:read"}}, {ID: "invoke", Scopes: []string{"t:invoke"}}},
		Tools: []*spec.Tool{
			{Name: "t", Domain: "t", Operation: "invoke", Scopes: []string{"market:read", "b:read"}},
			{Name: "u", Utility: true, Operation: "list", Scopes: []string{"b:read"}},
		},
	}
}

var holdings = access.Holdings{Grants: []string{"g"}, Entitlements: []string{"e"}, Budget: "b"}

func derive(seed int64) map[string]access.Issued {
	out := map[string]access.Issued{}
	for _, c := range access.Derive(seed, contract(), holdings) {
		out[c.Name] = c
	}
	return out
}

func TestDeriveIsDeterministic(t *testing.T) {
	a, b, c := access.Derive(1, contract(), holdings), access.Derive(1, contract(), holdings), access.Derive(2, contract(), holdings)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Error("one seed gives two sets")
	}
	tokens := map[string]bool{}
	for i := range a {
		tokens[a[i].Token], tokens[c[i].Token] = true, true
		if a[i].TokenHash != access.Hash(a[i].Token) {
			t.Errorf("%s: the hash is not the token's", a[i].Name)
		}
	}
	if len(tokens) != 2*len(a) {
		t.Errorf("%d different tokens of %d", len(tokens), 2*len(a))
	}
}

func TestDeriveDiffersInOneThing(t *testing.T) {
	set := derive(1)
	full := set[access.Primary].Principal
	if got := strings.Join(full.Scopes, " "); got != "b:read market:read t:invoke" {
		t.Errorf("scopes of primary: %s", got)
	}
	for name, change := range map[string]func(p *access.Principal){
		access.SecondClient:       func(*access.Principal) {},
		access.SecondWorkspace:    func(p *access.Principal) { p.Workspace = "ws_other" },
		access.WithoutScope:       func(p *access.Principal) { p.Scopes = []string{"t:invoke"} },
		access.WithoutEntitlement: func(p *access.Principal) { p.Entitlements = nil },
		access.ExhaustedBudget:    func(p *access.Principal) { p.Exhausted = true },
		access.RotatedOld:         func(*access.Principal) {},
		access.RotatedNew:         func(*access.Principal) {},
		access.Revoked:            func(*access.Principal) {},
		access.Expired:            func(p *access.Principal) { p.Expires = time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC) },
		access.RESTOnly:           func(p *access.Principal) { p.Audience = []string{access.AudienceREST} },
		access.MCPOnly:            func(p *access.Principal) { p.Audience = []string{access.AudienceMCP} },
		access.Limited:            func(p *access.Principal) { p.Limits.RequestsPerMinute, p.Limits.ConcurrentJobs = 60, 2 },
	} {
		got := set[name].Principal
		want := full
		want.Credential, want.Client = got.Credential, got.Client
		change(&want)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is\n%+v, want\n%+v", name, got, want)
		}
	}
	if set[access.RotatedOld].Principal.Client != set[access.RotatedNew].Principal.Client {
		t.Error("a rotation changes the client")
	}
	if set[access.Limited].Principal.Client == full.Client {
		t.Error("limited has the client of primary")
	}
}

func TestAdmissible(t *testing.T) {
	c := derive(1)[access.Primary].Credential
	end := c.Principal.Expires
	for _, x := range []struct {
		retired bool
		now     time.Time
		want    bool
	}{{false, end.Add(-1), true}, {false, end, false}, {true, end.Add(-1), false}} {
		if got := access.Admissible(c, x.retired, x.now); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

func TestMissingAndMayRead(t *testing.T) {
	p := access.Principal{Workspace: "w", Client: "c", Scopes: []string{"a"}}
	if access.Missing(p, []string{"a", "b"}) != "b" || access.Missing(p, nil) != "" {
		t.Error("Missing")
	}
	if !access.MayRead(p, "w", "other") || access.MayRead(p, "v", "c") || access.MayRead(access.Principal{}, "", "") {
		t.Error("MayRead")
	}
}
