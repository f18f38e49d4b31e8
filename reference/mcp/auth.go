package mcp

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
)

// Paths of the metadata that leads a client to its tokens (RFC 9728 §3, RFC 8414 §3), and of the token
// endpoint that it names.
const (
	resourceMetadata = "/.well-known/oauth-protected-resource"
	serverMetadata   = "/.well-known/oauth-authorization-server"
	tokenPath        = "/oauth/token"
)

// authenticate reads the bearer token of the Authorization header, and of no other place, and refuses
// one that was issued for another audience. It is done for every request, whatever the session.
func (h *Handler) authenticate(x *exchange) *fault {
	values := x.r.Header.Values("Authorization")
	if len(values) > 1 {
		return h.challenge(x.r, http.StatusBadRequest, "invalid_request", h.Domain.Refuse(core.Unauthenticated, "There is more than one Authorization header."))
	}
	token := ""
	if len(values) == 1 {
		if scheme, rest, _ := strings.Cut(values[0], " "); strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimLeft(rest, " ")
		}
	}
	p, refused := h.Domain.Authenticate(x.r.Context(), token)
	switch {
	case refused != nil && token == "":
		return h.challenge(x.r, refused.Status, "", refused)
	case refused != nil:
		return h.challenge(x.r, refused.Status, "invalid_token", refused)
	case !h.audience(p):
		refused = h.Domain.Refuse(core.Unauthenticated, "The bearer token was issued for another audience.")
		return h.challenge(x.r, refused.Status, "invalid_token", refused)
	}
	x.principal = p
	return nil
}

// challenge is a refusal that says where tokens come from (RFC 9728 §5.1), and what was wrong with the
// one that was shown, if any was (RFC 6750 §3.1).
func (h *Handler) challenge(r *http.Request, status int, reason string, p *core.Problem) *fault {
	value := `Bearer resource_metadata="` + h.baseURL(r) + resourceMetadata + Path + `"`
	if reason != "" {
		value += `, error="` + reason + `"`
	}
	f := refused(p)
	f.status, f.header = status, map[string]string{"WWW-Authenticate": value}
	return f
}

// baseURL is where the server is reached, as far as this request shows.
func (h *Handler) baseURL(r *http.Request) string {
	if h.BaseURL != "" {
		return h.BaseURL
	}
	return (&url.URL{Scheme: "http", Host: hostPort(r.Host)}).String()
}

// hostPort is a Host header without what would end a quoted string or a URL's authority.
func hostPort(host string) string {
	return strings.Map(func(c rune) rune {
		if c > ' ' && c < 0x7f && !strings.ContainsRune(`"\/?#@<>^{|}`+"`", c) {
			return c
		}
		return -1
	}, host)
}

// wellKnown answers what is beside the endpoint; none of it needs a token.
func (h *Handler) wellKnown(x *exchange) {
	path := x.r.URL.Path
	if path == tokenPath {
		h.token(x)
		return
	}
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		h.fail(x, methodNotAllowed("GET, HEAD"))
		return
	}
	base := h.baseURL(x.r)
	switch path {
	case resourceMetadata, resourceMetadata + Path:
		h.write(x, http.StatusOK, encode(map[string]any{
			"resource": base + Path, "authorization_servers": []string{base},
			"bearer_methods_supported": []string{"header"}, "scopes_supported": h.scopes(),
		}))
	case serverMetadata:
		h.write(x, http.StatusOK, encode(map[string]any{
			"issuer": base, "token_endpoint": base + tokenPath, "scopes_supported": h.scopes(),
			"response_types_supported": []string{}, "grant_types_supported": []string{grantCredentials},
			"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
		}))
	default:
		h.fail(x, &fault{status: http.StatusNotFound, code: codeRefused, message: "There is no such path."})
	}
}

func (h *Handler) scopes() []string {
	all := []string{}
	for _, t := range h.tools {
		all = append(all, t.op.Scopes...)
		all = append(all, t.Scopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	grantCredentials = "client_credentials"
	maxForm          = 16 << 10
)

// token is the token endpoint (RFC 6749 §4.4): a client shows its credential and gets the access token
// for a resource that the credential was issued for. The credentials of the reference are their own
// tokens, so nothing new comes into the world here.
func (h *Handler) token(x *exchange) {
	if x.r.Method != http.MethodPost {
		h.fail(x, methodNotAllowed("POST"))
		return
	}
	refuse := func(status int, code string) {
		if status == http.StatusUnauthorized {
			x.w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
		}
		h.write(x, status, encode(map[string]any{"error": code}))
	}
	x.r.Body = http.MaxBytesReader(x.w, x.r.Body, maxForm)
	if err := x.r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "invalid_request")
		return
	}
	client, secret, _ := x.r.BasicAuth()
	p, refused := h.Domain.Authenticate(x.r.Context(), secret)
	form := x.r.PostForm
	resources := form["resource"]
	switch {
	case refused != nil || p.Client != client:
		refuse(http.StatusUnauthorized, "invalid_client")
	case form.Get("grant_type") != grantCredentials:
		refuse(http.StatusBadRequest, "unsupported_grant_type")
	case len(resources) != 1 || !h.issuedFor(p, x.r, resources[0]):
		refuse(http.StatusBadRequest, "invalid_target") // RFC 8707 §2
	default:
		h.write(x, http.StatusOK, encode(map[string]any{
			"access_token": secret, "token_type": "Bearer", "scope": strings.Join(p.Scopes, " "),
			"expires_in": int(p.Expires.Sub(h.Clock.Now()).Seconds()),
		}))
	}
}

// issuedFor reports whether a principal's token is good for a resource of this server. The scheme and
// host of its identifier may be written in capitals.
func (h *Handler) issuedFor(p core.Principal, r *http.Request, resource string) bool {
	u, err := url.Parse(resource)
	if err != nil {
		return false
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch base := h.baseURL(r); u.String() {
	case base + Path:
		return h.audience(p)
	case base, base + "/":
		return h.Core.Audience(p, access.AudienceREST)
	}
	return false
}
