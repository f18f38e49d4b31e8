package mcp_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"assay.kit/reference"
	"assay.kit/reference/mcp"
)

// fetch reads a path beside the endpoint as JSON.
func (w *world) fetch(method, path string, form url.Values, client, secret string) (int, http.Header, map[string]any) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if secret != "" {
		r.SetBasicAuth(client, secret)
	}
	resp, err := w.http.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		w.t.Fatalf("%s %s: %d: %v", method, path, resp.StatusCode, err)
	}
	return resp.StatusCode, resp.Header, v
}

// TestMetadata walks from a refusal to a token, as a client that knows nothing but the endpoint does.
func TestMetadata(t *testing.T) {
	w := serve(t, "seer", reference.MCP{})
	refusal := w.caller("").post(ping)
	_, rest, _ := strings.Cut(refusal.header.Get("WWW-Authenticate"), `resource_metadata="`)
	at, _, _ := strings.Cut(rest, `"`)
	for _, path := range []string{strings.TrimPrefix(at, w.url), "/.well-known/oauth-protected-resource"} {
		status, header, meta := w.fetch("GET", path, nil, "", "")
		if servers, _ := meta["authorization_servers"].([]any); status != 200 || meta["resource"] != w.url+mcp.Path || len(servers) != 1 || servers[0] != w.url ||
			header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", path, status, meta)
		}
	}
	status, _, server := w.fetch("GET", "/.well-known/oauth-authorization-server", nil, "", "")
	endpoint, _ := server["token_endpoint"].(string)
	if status != 200 || server["issuer"] != w.url || !strings.HasPrefix(endpoint, w.url) {
		t.Fatalf("%d %v", status, server)
	}
	path := strings.TrimPrefix(endpoint, w.url)
	grant := func(resource string) url.Values {
		return url.Values{"grant_type": {"client_credentials"}, "resource": {resource}}
	}
	primary := w.ref.Token("primary")
	status, _, token := w.fetch("POST", path, grant(w.url+mcp.Path), "client_primary", primary)
	me := w.caller("primary")
	me.token, _ = token["access_token"].(string)
	if status != 200 || token["token_type"] != "Bearer" || me.initialize() == nil {
		t.Fatalf("%d %v", status, token)
	}
	for _, c := range []struct {
		name           string
		form           url.Values
		client, secret string
		status         int
		code           string
	}{
		{"capitals", grant(strings.Replace(w.url, "http", "HTTP", 1) + mcp.Path), "client_primary", primary, 200, ""},
		{"no client", grant(w.url + mcp.Path), "", "", 401, "invalid_client"},
		{"bad secret", grant(w.url + mcp.Path), "client_primary", "x", 401, "invalid_client"},
		{"another's secret", grant(w.url + mcp.Path), "client_primary", w.ref.Token("second_client"), 401, "invalid_client"},
		{"revoked", grant(w.url + mcp.Path), "client_revoked", w.ref.Token("revoked"), 401, "invalid_client"},
		{"wrong audience", grant(w.url + mcp.Path), "client_rest_only", w.ref.Token("rest_only"), 400, "invalid_target"},
		{"other resource", grant("https://other.example/mcp"), "client_primary", primary, 400, "invalid_target"},
		{"REST", grant(w.url), "client_mcp_only", w.ref.Token("mcp_only"), 400, "invalid_target"},
		{"no resource", url.Values{"grant_type": {"client_credentials"}}, "client_primary", primary, 400, "invalid_target"},
		{"other grant", url.Values{"grant_type": {"password"}}, "client_primary", primary, 400, "unsupported_grant_type"},
	} {
		status, _, v := w.fetch("POST", path, c.form, c.client, c.secret)
		if code, _ := v["error"].(string); status != c.status || code != c.code {
			t.Errorf("%s: %d %v", c.name, status, v)
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/oauth/token"} {
		if status, header, _ := w.fetch("PUT", path, nil, "", ""); status != 405 || header.Get("Allow") == "" {
			t.Errorf("PUT %s: %d", path, status)
		}
	}
}

// TestNoTools: a contract without tools has no endpoint.
func TestNoTools(t *testing.T) {
	if r := serve(t, "starter", reference.MCP{}).caller("primary").post(ping); r.status != 404 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
