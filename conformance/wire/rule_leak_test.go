package wire

import "testing"

// TestLeakOfWhatThePathSays: a made-up token that the path contains too is echoed with the path.
func TestLeakOfWhatThePathSays(t *testing.T) {
	ex := Exchange{End: EndComplete, Head: Head{Status: 401, Fields: []Field{{Name: "X-Request-Id", Value: "r-assay-abcdef-1-2-3"}}},
		Req: Request{Method: "GET", Target: "/v1/things/assay-abcdef-1-2", Fields: []Field{{Name: "Authorization", Value: "Bearer assay-abcdef-1"}}}}
	if got := leak(&View{Exchange: ex}); len(got.findings) != 0 {
		t.Errorf("an echo of the path is called a leak: %v", got.findings)
	}
	ex.Req.Target = "/v1/things"
	if got := leak(&View{Exchange: ex}); len(got.findings) != 1 {
		t.Errorf("a token in a header is no finding: %v", got.findings)
	}
}
