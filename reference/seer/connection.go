package seer

import (
	"context"
	"errors"

	"assay.kit/reference/core"
)

// bucketDefaults holds the default agent revision of each workspace.
const bucketDefaults = "seer default agent revision"

type connection struct {
	Client       string   `json:"client_id"`
	Workspace    string   `json:"workspace_id"`
	Audience     []string `json:"audience"`
	Expires      string   `json:"expires_at"`
	Scopes       []string `json:"scopes"`
	Grants       []string `json:"grants"`
	Entitlements []string `json:"entitlements"`
	Budget       string   `json:"service_budget,omitempty"`
	Revision     string   `json:"default_agent_revision,omitempty"`
	Endpoint     string   `json:"mcp_endpoint"`
	Requests     int      `json:"request_limit_per_minute"`
	Jobs         int      `json:"max_concurrent_jobs"`
	Bytes        int      `json:"max_request_bytes"`
	Retention    int      `json:"idempotency_retention_seconds"`
	Cursors      int      `json:"cursor_ttl_seconds"`
	Events       int      `json:"event_retention_seconds"`
}

// connection answers with the effective context of the credential, never with the credential.
func (s *Seer) connection(ctx context.Context, sys core.System, r *core.Request) (core.Answer, *core.Problem) {
	p := r.Principal
	revision, err := s.defaultRevision(ctx, sys, p.Workspace)
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	return answer(sys, 200, connection{
		Client: p.Client, Workspace: p.Workspace, Audience: list(p.Audience), Expires: core.Timestamp(p.Expires),
		Scopes: list(p.Scopes), Grants: list(p.Grants), Entitlements: list(p.Entitlements), Budget: p.Budget,
		Revision: revision, Endpoint: s.baseURL + "/mcp",
		Requests: p.Limits.RequestsPerMinute, Jobs: p.Limits.ConcurrentJobs, Bytes: p.Limits.RequestBytes,
		Retention: int(p.Limits.IdempotencyRetention.Seconds()), Cursors: int(p.Limits.CursorTTL.Seconds()),
		Events: int(p.Limits.EventRetention.Seconds()),
	})
}

// defaultRevision is the id of the workspace's default agent revision, "" if it has none.
func (s *Seer) defaultRevision(ctx context.Context, sys core.System, workspace string) (id string, err error) {
	err = sys.Store().View(ctx, func(r core.Reader) error {
		v, err := r.Value(bucketDefaults, workspace)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		id = string(v)
		return err
	})
	return id, err
}

// list is never null in JSON.
func list(vs []string) []string {
	if vs == nil {
		return []string{}
	}
	return vs
}
