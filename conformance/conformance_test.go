package conformance_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.kit/conformance"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// flags are bound before the test binary parses its own, which leaves no other place for them.
var flags conformance.Flags

func TestMain(m *testing.M) {
	flags.Bind(flag.CommandLine)
	os.Exit(m.Run())
}

// TestTarget judges the server of -target or -profile; without one, a server of its own.
//
//	go test ./conformance -run TestTarget -v -target https://staging.example.com -contract notes
func TestTarget(t *testing.T) {
	conformance.Test(t, targetOptions(t))
}

func targetOptions(t *testing.T) conformance.Options {
	if flags.Given(os.LookupEnv) {
		o, err := flags.Options(os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	server := httptest.NewServer(doors())
	t.Cleanup(server.Close)
	contract, err := spec.Load(os.DirFS("testdata/doors"), "doors")
	if err != nil {
		t.Fatal(err)
	}
	return conformance.Options{Contract: contract, Seed: 1, Skip: beyond(), Profile: &target.Profile{BaseURL: server.URL,
		Credentials: map[string]target.Credential{"primary": {Bearer: target.NewSecret("token-of-the-test")}}}}
}

// beyond are the cases that need more than a server in this process has: other credentials, a restart.
func beyond() []string {
	return []string{"access", "durability", "idempotency.client", "idempotency.workspace", "idempotency.revoked"}
}

// What go test prints of a server that ignores keys: which promise is broken, what was seen, how to
// see it again; and nothing is said of what keeps its promises.
func TestTargetFails(t *testing.T) {
	server := httptest.NewServer(forgetful(doors()))
	defer server.Close()
	out, err := goTest(t, server.URL, "-only", "idempotency.sequential,transport.routes", "-seed", "7")
	if err == nil {
		t.Errorf("the test passes on a broken server:\n%s", out)
	}
	for _, want := range []string{"--- FAIL: TestTarget/idempotency.sequential@createDoor", "--- PASS: TestTarget/transport.routes@createDoor",
		"FAIL  idempotency.replay on createDoor", "DOORS-01", "must hold", "expected", "actual", "curl", "seed 7"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, secretToken) {
		t.Errorf("it prints the token:\n%s", out)
	}
}

// A server that judges nothing, or is not there, is no success; neither is a mistake in the flags.
func TestTargetCannotJudge(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	mute := httptest.NewServer(http.NotFoundHandler())
	defer mute.Close()
	for _, tc := range []struct {
		name, url string
		args      []string
		says      string
	}{
		{"dead", dead.URL, nil, "target is unreachable"},
		{"nothing there", mute.URL, []string{"-only", "idempotency.sequential"}, "inconclusive: "},
		{"nothing executed", mute.URL, []string{"-only", "durability"}, "nothing was executed"},
		{"a slip in an id", mute.URL, []string{"-only", "idempotency.sequentail"}, `did you mean "idempotency.sequential"?`},
		{"nothing of that kind", mute.URL, []string{"-only", "collections.walk"}, `"collections.walk" selects nothing: nothing in the contract has the trait`},
		{"no seed", mute.URL, []string{"-seed", "x"}, `flag -seed: "x" is not a whole number`},
		{"no effort", mute.URL, []string{"-effort", "hard"}, `"hard" is none of quick, standard, deep`},
		{"no effect", mute.URL, []string{"-allow", "compute"}, "there is: financial"},
		{"no contract", mute.URL, []string{"-contract", "seeer"}, `did you mean "seer"?`},
		{"no profile", mute.URL, []string{"-profile", "none.yaml"}, "none.yaml cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if out, err := goTest(t, tc.url, tc.args...); err == nil || !strings.Contains(out, tc.says) {
				t.Errorf("%v: it does not say %q:\n%s", err, tc.says, out)
			}
		})
	}
}

// A run under a deadline ends before it, and says what it did not come to.
func TestDeadline(t *testing.T) {
	over := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			<-over
		}
	}))
	defer slow.Close()
	defer close(over)
	out, err := goTest(t, slow.URL, "-only", "idempotency.sequential,transport.routes", "-test.timeout", "2s")
	if err == nil || !strings.Contains(out, "inconclusive: ") || strings.Contains(out, "panic: test timed out") {
		t.Errorf("%v:\n%s", err, out)
	}
	o := conformance.Options{Profile: &target.Profile{Budget: target.Budget{Time: time.Minute}}}
	if got := o.Until(time.Now().Add(time.Hour), true).Profile.Budget.Time; got != time.Minute {
		t.Errorf("a far deadline makes the budget %s", got)
	}
	if got := o.Until(time.Now().Add(time.Second), true).Profile.Budget.Time; got <= 0 || got >= time.Second || o.Profile.Budget.Time != time.Minute {
		t.Errorf("a near deadline makes the budget %s, and the caller's %s", got, o.Profile.Budget.Time)
	}
	if got := o.Until(time.Time{}, false).Profile.Budget.Time; got != time.Minute {
		t.Errorf("no deadline makes the budget %s", got)
	}
}

// A slip in what is declared absent must not lead a run to where it may not go.
func TestUnknownAbsent(t *testing.T) {
	contract, err := spec.Load(os.DirFS("testdata/doors"), "doors")
	if err != nil {
		t.Fatal(err)
	}
	for absent, want := range map[string]string{"createDoor": "", "createDor": `no operation "createDor"; did you mean "createDoor"?`} {
		_, _, err := conformance.Plan(conformance.Options{Contract: contract, Profile: &target.Profile{BaseURL: "http://127.0.0.1:9", Absent: []string{absent}}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", absent, err, want)
		}
	}
}

// The variables say what the flags say.
func TestVariables(t *testing.T) {
	server := httptest.NewServer(doors())
	defer server.Close()
	var f conformance.Flags
	f.Bind(flag.NewFlagSet("none", flag.ContinueOnError))
	env := map[string]string{"ASSAY_TARGET": server.URL, "ASSAY_CONTRACT": "testdata/doors", "ASSAY_ONLY": "DOORS-01, DOORS-02",
		"ASSAY_SKIP": "idempotency.race", "ASSAY_SEED": "5", "ASSAY_STRICT": "true", "DOORS_TOKEN": secretToken}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	o, err := f.Options(lookup)
	if err != nil || !f.Given(lookup) || o.Contract.Name != "doors" || o.Profile.BaseURL != server.URL || o.Seed != 5 || !o.Strict ||
		len(o.Only) != 2 || len(o.Skip) != 1 {
		t.Errorf("%+v: %v", o, err)
	}
}

const secretToken = "token-that-nobody-may-print"

// goTest runs TestTarget of this test binary as go test would, with flags.
func goTest(t *testing.T, url string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-test.run", "^TestTarget$", "-test.v", "-target", url, "-contract", "testdata/doors"}, args...)
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), "DOORS_TOKEN="+secretToken)
	out, err := c.CombinedOutput()
	return string(out), err
}

// forgetful gives every request a key of its own.
func forgetful(h http.Handler) http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			r.Header.Set("Idempotency-Key", fmt.Sprint(key, n.Add(1)))
		}
		h.ServeHTTP(w, r)
	})
}
