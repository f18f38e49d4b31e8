package conformance_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"

	"assay.kit/conformance"
	"assay.kit/conformance/target"
	"assay.kit/spec"
)

// A server of your own, judged from your own go test: load the contract, say where the server is and
// what the credential is, and run.
func ExampleRun() {
	server := httptest.NewServer(doors())
	defer server.Close()
	contract, err := spec.Load(os.DirFS("testdata/doors"), "doors")
	if err != nil {
		fmt.Println(err)
		return
	}
	rep, err := conformance.Run(context.Background(), conformance.Options{
		Contract: contract,
		Profile: &target.Profile{BaseURL: server.URL, Credentials: map[string]target.Credential{
			"primary": {Bearer: target.NewSecret("token-of-the-test")},
		}},
		Seed: 1,
		Only: []string{"idempotency.sequential", "idempotency.key"}, // leave it out to judge everything
	})
	if err != nil { // nothing could be judged
		fmt.Println(err)
		return
	}
	for _, q := range rep.Requirements {
		fmt.Println(q.ID, q.Verdict)
	}
	for _, f := range rep.Findings {
		fmt.Printf("%s %s: %s; got %s\n", f.Verdict, f.Case, f.Message, f.Actual)
	}
	fmt.Println(rep.Verdict)
	// Output:
	// DOORS-01 pass
	// DOORS-02 pass
	// DOORS-03 pass
	// conformant
}
