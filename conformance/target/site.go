package target

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"assay.kit/conformance/wire"
)

// site is one URL that requests go to, with its idle connections.
type site struct {
	addr   string // host:port to dial
	host   string // Host field
	prefix string // path of the URL, escaped, without trailing slash
	origin string // scheme://host:port, normalised
	tls    *tls.Config
	proxy  *proxy // nil: it is reached directly
	pool   *pool
}

func newSite(raw string, p *Profile, maxIdle int) (*site, error) {
	base, err := checkBaseURL(raw)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("the base URL is no URL")
	}
	s := &site{host: u.Host, prefix: u.EscapedPath(), addr: address(u), origin: originOf(u), pool: newPool(maxIdle)}
	if u.Scheme == "https" {
		if s.tls, err = tlsConfig(p.TLS, u.Hostname()); err != nil {
			return nil, err
		}
	}
	if s.proxy, err = proxyFor(p.Proxy, u.Hostname()); err != nil {
		return nil, err
	}
	return s, nil
}

// UseMCP names the MCP endpoint, before the first request of its face. Tokens will be sent there.
func (r *REST) UseMCP(endpoint string) error {
	s, err := newSite(endpoint, r.profile, r.opt.MaxIdle)
	if err != nil {
		return err
	}
	r.mcp = s
	return nil
}

// UseMCPFromTarget is UseMCP for an endpoint that the target itself has named. It must be on the
// host of the base URL: a target may not lead the credentials to another party.
func (r *REST) UseMCPFromTarget(endpoint string) error {
	s, err := newSite(endpoint, r.profile, r.opt.MaxIdle)
	if err != nil {
		return err
	}
	if hostname(s.addr) != hostname(r.addr) {
		return fmt.Errorf("the target names its MCP endpoint on another host, %s; write mcp_url in the profile if credentials may go there", s.host)
	}
	r.mcp = s
	return nil
}

// HasMCP reports whether the MCP endpoint is known.
func (r *REST) HasMCP() bool { return r.mcp != nil }

// MCPEndpoint is the URL of the endpoint as it is used, "" if there is none.
func (r *REST) MCPEndpoint() string {
	if r.mcp == nil {
		return ""
	}
	return r.mcp.origin + r.mcp.prefix
}

// siteOf is where a request goes. That of the endpoint's host has no prefix.
func (r *REST) siteOf(rq wire.Request) (*site, error) {
	switch {
	case rq.Face == wire.FaceREST:
		return r.site, nil
	case r.mcp == nil:
		return nil, errors.New("not sent: the MCP endpoint is not known; write mcp_url in the profile")
	case rq.Face == wire.FaceMCP:
		return r.mcp, nil
	case rq.Face == wire.FaceMCPHost:
		bare := *r.mcp
		bare.prefix = ""
		return &bare, nil
	default:
		return nil, fmt.Errorf("not sent: there is no face %q", rq.Face)
	}
}

func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func originOf(u *url.URL) string { return strings.ToLower(u.Scheme) + "://" + address(u) }

func hostname(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}
