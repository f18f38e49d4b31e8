package target

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"sync"

	"assay.kit/conformance/wire"
)

// shortSecret is the length below which a secret is looked for in headers only: a body is full of
// four-letter words, and hiding them all would make a report unreadable.
const shortSecret = 6

// Redactor hides secrets in what is recorded: by header name, and by value in each form in which a
// value travels (plain, base64, URL-encoded, JSON-escaped). Safe for concurrent use.
type Redactor struct {
	mu      sync.RWMutex
	secrets []string
	all     *strings.Replacer // secrets of every length: for headers
	long    *strings.Replacer // the others: for targets and bodies
	names   map[string]bool   // fields of requests that the profile gives: their values stay here
}

// NewRedactor hides every secret of a profile; nil is a profile without any.
func NewRedactor(p *Profile) *Redactor {
	r := &Redactor{names: map[string]bool{}}
	var list []Secret
	if p != nil {
		for _, c := range p.Credentials {
			list = append(list, c.Bearer)
		}
		for _, h := range p.Headers {
			list = append(list, h.Secret)
			r.names[strings.ToLower(h.Name)] = true
			if len(h.Value) >= shortSecret { // a short word of a header is no secret elsewhere
				list = append(list, NewSecret(h.Value))
			}
		}
		list = append(list, proxySecrets(p.Proxy)...)
	}
	r.Add(list...)
	return r
}

// Add hides further secrets from now on.
func (r *Redactor) Add(list ...Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range list {
		if v := s.Reveal(); v != "" && !slices.Contains(r.secrets, v) {
			r.secrets = append(r.secrets, v)
		}
	}
	r.all, r.long = replacer(r.secrets, 1), replacer(r.secrets, shortSecret)
}

func replacer(secrets []string, shortest int) *strings.Replacer {
	var forms []string
	for _, s := range secrets {
		if len(s) >= shortest {
			forms = append(forms, spellings(s)...)
		}
	}
	slices.SortFunc(forms, func(a, b string) int { // a longer form must not be spoilt by a shorter one in it
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, hidden)
	}
	return strings.NewReplacer(pairs...)
}

func spellings(s string) []string {
	b := []byte(s)
	return []string{
		s,
		base64.RawStdEncoding.EncodeToString(b), base64.StdEncoding.EncodeToString(b),
		base64.RawURLEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(b),
		url.QueryEscape(s), url.PathEscape(s),
		escapeJSON(s), strings.ReplaceAll(escapeJSON(s), "/", `\/`),
	}
}

// Text hides the secrets in a text, but for those so short that ordinary words would go with them.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.long.Replace(s)
}

// Redact returns a copy that may be recorded.
func (r *Redactor) Redact(ex wire.Exchange) wire.Exchange {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ex.Req.Target = r.long.Replace(ex.Req.Target)
	ex.Req.Fields = r.fields(ex.Req.Fields)
	for i, f := range ex.Req.Fields {
		if r.names[strings.ToLower(f.Name)] {
			ex.Req.Fields[i].Value = hidden
		}
	}
	ex.Req.Body = r.bytes(ex.Req.Body)
	ex.Head.Fields = r.fields(ex.Head.Fields)
	ex.Events = slices.Clone(ex.Events)
	for i := range ex.Events {
		ex.Events[i].Data = r.bytes(ex.Events[i].Data)
	}
	ex.Err = r.all.Replace(ex.Err)
	return ex
}

func (r *Redactor) bytes(b []byte) []byte {
	if len(b) == 0 {
		return b // nil and empty mean different things
	}
	return []byte(r.long.Replace(string(b)))
}

func (r *Redactor) fields(fs []wire.Field) []wire.Field {
	out := slices.Clone(fs)
	for i, f := range out {
		switch strings.ToLower(f.Name) {
		case "authorization", "proxy-authorization":
			out[i].Value = hideCredentials(f.Value)
		case "cookie", "set-cookie", "mcp-session-id":
			out[i].Value = hidden
		default:
			out[i].Value = r.all.Replace(f.Value)
		}
	}
	return out
}

// hideCredentials keeps the scheme, which tells a missing token from a malformed one.
func hideCredentials(v string) string {
	scheme, rest, ok := strings.Cut(v, " ")
	switch {
	case v == "":
		return ""
	case ok && rest == "":
		return v // a scheme without a token
	case ok && isToken(scheme) && len(scheme) <= 16:
		return scheme + " " + hidden
	case strings.EqualFold(v, "bearer"), strings.EqualFold(v, "basic"):
		return v
	default:
		return hidden
	}
}
