package ginkgorun_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"assay.kit/conformance"
	"assay.kit/conformance/ginkgorun"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// flags are bound before the test binary parses its own, which leaves no other place for them.
var flags conformance.Flags

func TestMain(m *testing.M) {
	flags.Bind(flag.CommandLine)
	os.Exit(m.Run())
}

// TestTarget judges the server of -target or -profile as a Ginkgo suite; without one, a server of its own.
//
//	go test ./conformance/ginkgorun -run TestTarget -v -target https://staging.example.com -ginkgo.label-filter 'idempotency && !restart'
func TestTarget(t *testing.T) {
	if flags.Given(os.LookupEnv) {
		o, err := flags.Options(os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		ginkgorun.Run(t, o)
		return
	}
	server := httptest.NewServer((&doors{}).handler())
	defer server.Close()
	contract, err := spec.Load(os.DirFS(contractDir), "doors")
	if err != nil {
		t.Fatal(err)
	}
	ginkgorun.Run(t, conformance.Options{Contract: contract, Seed: 1, Profile: &target.Profile{BaseURL: server.URL,
		Credentials: map[string]target.Credential{"primary": {Bearer: target.NewSecret(secretToken)}}}})
}

const (
	contractDir = "../testdata/doors"
	secretToken = "token-that-nobody-may-print"
)

// A label filter chooses what is reported and what is sent: nothing of the rest reaches the server.
func TestLabels(t *testing.T) {
	for _, tc := range []struct {
		name, filter string
		runs, never  string // of the Its
		sends        bool
		fails        string // what it says if it must fail
	}{
		{name: "family", filter: "transport", runs: "transport.routes@createDoor", never: "idempotency.sequential@createDoor", sends: true},
		{name: "requirement", filter: "DOORS-02", runs: "idempotency.sequential@createDoor", never: "transport.routes@createDoor", sends: true},
		{name: "claim", filter: "idempotency.key-required", runs: "idempotency.key@createDoor", never: "transport.routes@createDoor", sends: true},
		{name: "operation", filter: "createDoor && validation", runs: "validation.body@createDoor", never: "transport.routes@createDoor", sends: true},
		{name: "level", filter: "MUST && !wire && !idempotency.lost-answer", runs: "idempotency.sequential@createDoor", never: "transport.routes@createDoor", sends: true},
		{name: "need", filter: "restart", runs: "durability.keys@createDoor", never: "transport.routes@createDoor", fails: "nothing was executed"},
		{name: "passive claims alone", filter: "wire", fails: "the filters select no case"},
		{name: "nothing", filter: "durability && transport", fails: "the filters select no case"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &doors{}
			server := httptest.NewServer(s.handler())
			defer server.Close()
			out, err := goTest(t, server.URL, "-ginkgo.label-filter", tc.filter, "-ginkgo.v")
			if (err != nil) != (tc.fails != "") || !strings.Contains(out, tc.fails) || !strings.Contains(out, tc.runs) {
				t.Errorf("%v: it does not say %q or run %q:\n%s", err, tc.fails, tc.runs, out)
			}
			if tc.never != "" && strings.Contains(out, tc.never) {
				t.Errorf("it runs %s:\n%s", tc.never, out)
			}
			if sent := s.count() > 0; sent != tc.sends {
				t.Errorf("doors were made: %v", sent)
			}
		})
	}
}

// A broken promise is a failed It that says what the console says; the others stay green.
func TestFailure(t *testing.T) {
	server := httptest.NewServer((&doors{forgets: true}).handler())
	defer server.Close()
	out, err := goTest(t, server.URL, "-only", "idempotency.sequential,transport.routes", "-seed", "7", "-ginkgo.v")
	if err == nil {
		t.Errorf("the suite passes on a broken server:\n%s", out)
	}
	for _, want := range []string{"[FAIL] idempotency", "idempotency.sequential@createDoor", "FAIL  idempotency.replay on createDoor", "DOORS-01",
		"must hold", "curl", "seed 7", "1 Failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, secretToken) {
		t.Errorf("it prints the token:\n%s", out)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	if out, err := goTest(t, server.URL); err == nil || !strings.Contains(out, "target is unreachable") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// goTest runs TestTarget of this test binary as go test would: Ginkgo takes one suite a process.
func goTest(t *testing.T, url string, args ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-test.run", "^TestTarget$", "-ginkgo.no-color", "-target", url, "-contract", contractDir}, args...)
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), "DOORS_TOKEN="+secretToken)
	out, err := c.CombinedOutput()
	return string(out), err
}

// doors makes one door a key; one that forgets makes one a request.
type doors struct {
	forgets bool
	mu      sync.Mutex
	made    map[string][2]string // key -> body, id
	asked   int
}

func (d *doors) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

func (d *doors) handler() http.Handler {
	d.made = map[string][2]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /doors", func(w http.ResponseWriter, r *http.Request) {
		var sent map[string]any
		bad := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&sent)
		body, _ := json.Marshal(sent)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked++
		key := r.Header.Get("Idempotency-Key")
		if key == "" || bad != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if d.forgets {
			key = fmt.Sprint(key, d.asked)
		}
		door, known := d.made[key]
		if known && door[0] != string(body) {
			w.WriteHeader(http.StatusConflict)
			return
		}
		if !known {
			door = [2]string{string(body), fmt.Sprint("door-", len(d.made))}
			d.made[key] = door
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%q}`, door[1])
	})
	return mux
}
