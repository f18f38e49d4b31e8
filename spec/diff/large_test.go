//go:build oasdiff

package diff_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.kit/spec/tree"
)

// largeEdits are twelve breaking edits of Stripe's document: where, which member, and its new value; "" removes it.
func largeEdits() [][3]string {
	form := "/requestBody/content/application~1x-www-form-urlencoded/schema"
	return [][3]string{
		{"/paths/~1v1~1customers/post" + form, "required", `["email"]`},
		{"/paths/~1v1~1customers/post" + form + "/properties/description", "maxLength", "10"},
		{"/paths/~1v1~1payment_intents/post" + form + "/properties/capture_method", "enum", `["automatic"]`},
		{"/paths/~1v1~1refunds/post" + form + "/properties", "reason", ""},
		{"/paths/~1v1~1balance", "get", ""},
		{"/paths/~1v1~1events/get", "operationId", `"ListEvents"`},
		{"/paths/~1v1~1charges/get/parameters/0", "required", "true"},
		{"/components/schemas/customer/properties", "balance", ""},
		{"/components/schemas/charge", "required", `["id"]`},
		{"/components/schemas/payment_intent/properties/status", "enum", `["succeeded", "odd"]`},
		{"/components/schemas/refund/properties/amount", "nullable", "true"},
		{"/components/schemas/invoice/properties/amount_due", "type", `"string"`},
	}
}

// TestLarge times both tools on a large document and a copy with twelve edits:
//
//	ASSAY=bin/assay OASDIFF=$(which oasdiff) LARGE=spec3.json go test -v -tags oasdiff -run TestLarge ./spec/diff
func TestLarge(t *testing.T) {
	large := os.Getenv("LARGE")
	data, err := os.ReadFile(large)
	if err != nil {
		t.Fatal(err)
	}
	root, err := tree.ParseJSON("large.json", data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range largeEdits() {
		n := root.At(tree.Pointer(e[0]))
		if n == nil {
			t.Fatalf("there is nothing at %s", e[0])
		}
		if e[2] == "" {
			n.Delete(e[1])
			continue
		}
		v, err := tree.ParseJSON("edit.json", []byte(e[2]))
		if err != nil {
			t.Fatal(err)
		}
		n.Set(e[1], v)
	}
	edited := filepath.Join(t.TempDir(), "edited.json")
	if err := os.WriteFile(edited, root.JSON(), 0o644); err != nil {
		t.Fatal(err)
	}
	out := timed(t, os.Getenv("ASSAY"), "diff", large, edited)
	timed(t, os.Getenv("OASDIFF"), "breaking", large, edited)
	for _, l := range strings.Split(out, "\n") {
		if strings.HasPrefix(l, "breaking ") {
			t.Log(l)
		}
	}
}

func timed(t *testing.T, binary string, args ...string) string {
	t.Helper()
	began := time.Now()
	c := exec.CommandContext(t.Context(), binary, args...)
	out, _ := c.Output() // breaking, so not 0
	t.Logf("%s: %.1f s, %.1f CPU s, %d lines", filepath.Base(binary), time.Since(began).Seconds(), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), strings.Count(string(out), "\n"))
	return string(out)
}
