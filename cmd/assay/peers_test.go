//go:build peers

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.kit/conformance/target"
	"assay.kit/reference/mcp"
)

// These tests meet what others wrote, in the folder that make peers installs it into: the official
// TypeScript client, the official conformance suite and a server. A build tag keeps them from
// make test, which needs nothing but Go.

// answerForms are the values of --mcp-answers.
func answerForms() []mcp.Form { return []mcp.Form{mcp.JSON, mcp.SSE, mcp.Mixed} }

// peer is the command of a peer: the Node.js of the folder runs one of its files.
func peer(ctx context.Context, t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	dir := os.Getenv("ASSAY_PEERS")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".bin", "node")); dir == "" || err != nil {
		t.Fatalf("ASSAY_PEERS=%q is no folder that make peers has installed the peers into; run make peers", dir)
	}
	c := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", ".bin", "node"), args...)
	c.Dir, c.Env, c.WaitDelay = dir, append(os.Environ(), env...), 5*time.Second
	return c
}

// ours is a reference that runs as the command serves it.
type ours struct{ mcp, control, token string }

func serveOurs(t *testing.T, args ...string) ours {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile.yaml")
	line, _ := ready(t, append([]string{"--store", "memory", "--write-profile", file}, args...)...)
	p, err := target.Load(file, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	out := ours{token: p.Credentials[string(target.Primary)].Bearer.Reveal()}
	out.mcp, _ = line["mcp_url"].(string)
	out.control, _ = line["control_url"].(string)
	return out
}

func serveForm(t *testing.T, form mcp.Form) ours {
	t.Helper()
	return serveOurs(t, "--contract", "seer", "--mcp-answers", string(form))
}

// TestPeersClient: the official TypeScript client lists by pages, calls, and reads a job to its artifact,
// whether it proposes the revision or a newer one that the server has to talk down.
func TestPeersClient(t *testing.T) {
	for _, form := range answerForms() {
		for _, propose := range []string{mcp.Revision, ""} {
			t.Run(fmt.Sprintf("%s/proposes %s", form, orElse(propose, "its newest")), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				server := serveForm(t, form)
				out, err := peer(ctx, t, []string{"PEER_URL=" + server.mcp, "PEER_TOKEN=" + server.token,
					"PEER_ADVANCE=" + server.control + "/_assay/advance", "PEER_PROPOSE=" + propose}, "client.mjs").CombinedOutput()
				steps := strings.Count("\n"+string(out), "\nok ")
				if err != nil || steps != clientSteps {
					t.Fatalf("%d steps of %d held: %v\n%s", steps, clientSteps, err, out)
				}
				t.Logf("%d steps checked", steps)
			})
		}
	}
}

// clientSteps is how many steps client.mjs takes; one that is skipped must not pass.
const clientSteps = 11
