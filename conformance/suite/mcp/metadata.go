package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"assay.kit/conformance/check"
	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// wellKnown is where the metadata of a protected resource are (RFC 9728 §3).
const wellKnown = "/.well-known/oauth-protected-resource"

// resourceMetadata finds the parameter in a challenge (RFC 9728 §5.1); its value may be a token or quoted.
var resourceMetadata = regexp.MustCompile(`(?i)(?:^|[\s,])resource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))`)

func metadata(_ context.Context, t *check.T, _ check.Subject) {
	reachable(t)
	nobody := New(t, "")
	ex, _ := nobody.Call("initialize", hello(Revision))
	if ex.Status() != http.StatusUnauthorized {
		t.Inconclusive("a request without a token was answered %s, so there is no challenge", told(ex))
	}
	at, challenged := challenge(ex)
	t.Must("mcp.challenge", challenged && at != nil, "WWW-Authenticate: Bearer with an absolute URL as resource_metadata",
		fmt.Sprintf("%q", ex.HeaderValues("WWW-Authenticate")))
	own := endpointURL(t.Profile())
	if own == nil || !sameHost(at, own) {
		for _, claim := range []string{"mcp.metadata", "mcp.metadata-servers", "mcp.metadata-resource"} {
			t.NotApplicable(claim, "the metadata are on another host than the endpoint, where nothing is sent")
		}
		return
	}
	ex = t.Send("", wire.Request{Face: wire.FaceMCPHost, Method: http.MethodGet, Target: targetOf(at)}, target.Call{Timeout: answerTime})
	var doc struct {
		Resource *string
		Servers  []string `json:"authorization_servers"`
	}
	var object map[string]json.RawMessage
	ok := ex.Status() == http.StatusOK && json.Unmarshal(ex.Body(), &object) == nil
	t.Must("mcp.metadata", ok, "200 with a JSON object at "+at.String(), told(ex))
	err := json.Unmarshal(ex.Body(), &doc)
	absolute := err == nil && len(doc.Servers) > 0
	for _, s := range doc.Servers {
		u, err := url.Parse(s)
		absolute = absolute && err == nil && u.Scheme != "" && u.Host != ""
	}
	t.Judge("mcp.metadata-servers", absolute, "authorization_servers with at least one absolute URL", told(ex))
	got := ""
	if doc.Resource != nil {
		got = *doc.Resource
	}
	made := *at
	made.Path = strings.Replace(at.Path, wellKnown, "", 1)
	made.RawPath, made.RawQuery = "", ""
	t.Judge("mcp.metadata-resource", sameURL(got, own) || at.Path != made.Path && sameURL(got, &made),
		"the resource "+own.String(), fmt.Sprintf("%q", got))
}

// challenge reads where a 401 says that the metadata are; nil if it does not, or by no absolute URL.
func challenge(ex wire.Exchange) (at *url.URL, bearer bool) {
	for _, v := range ex.HeaderValues("WWW-Authenticate") {
		bearer = bearer || strings.HasPrefix(strings.ToLower(strings.TrimSpace(v)), "bearer") || strings.Contains(strings.ToLower(v), ", bearer")
		m := resourceMetadata.FindStringSubmatch(v)
		if m == nil {
			continue
		}
		if u, err := url.Parse(m[1] + m[2]); err == nil && u.Scheme != "" && u.Host != "" {
			at = u
		}
	}
	return at, bearer
}

// endpointURL is the endpoint as the profile has it.
func endpointURL(p *target.Profile) *url.URL {
	u, err := url.Parse(p.MCPURL)
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(hostPort(a), hostPort(b)) && a.Scheme == b.Scheme
}

// hostPort is the authority with its port written out.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return u.Host + ":" + map[string]string{"https": "443"}[u.Scheme] + map[string]string{"http": "80"}[u.Scheme]
}

// sameURL compares a text with a URL; capitals of scheme and host, a port that goes without saying and
// a slash at the end make no difference.
func sameURL(text string, u *url.URL) bool {
	got, err := url.Parse(text)
	if err != nil {
		return false
	}
	return strings.EqualFold(got.Scheme, u.Scheme) && strings.EqualFold(hostPort(got), hostPort(u)) &&
		strings.TrimSuffix(got.Path, "/") == strings.TrimSuffix(u.Path, "/") && got.RawQuery == u.RawQuery && got.Fragment == ""
}

func targetOf(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}
