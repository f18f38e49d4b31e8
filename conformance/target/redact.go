package target

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"assay.kit/conformance/wire"
)

// shortSecret is the length below which a secret is looked for in headers only: a body is full of
// four-letter words, and hiding them all would make a report unreadable.
const shortSecret = 6

// shortCut is how much of the beginning of a secret is taken for it where a text was cut.
const shortCut = 8

// Redactor hides secrets in what is recorded: by header name, and by value in each form in which a
// value travels (plain, base64 wherever it begins, hexadecimal, URL-encoded, JSON-escaped). Safe for concurrent use.
type Redactor struct {
	mu      sync.RWMutex
	secrets []string
	all     *strings.Replacer // secrets of every length: for headers
	long    *strings.Replacer // the others: for targets and bodies
	names   map[string]bool   // fields of requests that the profile gives: their values stay here
	forms   []string          // of the others
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
			list = append(list, inCookie(h)...)
		}
		list = append(list, proxySecrets(p.Proxy)...)
		list = append(list, p.secrets...)
	}
	r.Add(list...)
	return r
}

// fromEnvironment is what commands inherit and may print when they fail: the values of variables
// that are named like secrets.
func fromEnvironment(env []string) []Secret {
	var out []Secret
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if len(value) >= shortCut && secretName.MatchString(name) {
			out = append(out, NewSecret(value))
		}
	}
	return out
}

// inCookie gives the values of a Cookie header's pairs: a server may echo one without the other.
func inCookie(h Header) []Secret {
	if !strings.EqualFold(h.Name, "Cookie") {
		return nil
	}
	var out []Secret
	for _, pair := range strings.Split(h.Value+h.Secret.Reveal(), ";") {
		_, v, _ := strings.Cut(pair, "=")
		out = append(out, NewSecret(strings.TrimSpace(v)))
	}
	return out
}

var secretName = regexp.MustCompile(`(?i)(TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY)`)

// Add hides further secrets from now on.
func (r *Redactor) Add(list ...Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range list {
		if v := s.Reveal(); v != "" && !slices.Contains(r.secrets, v) {
			r.secrets = append(r.secrets, v)
		}
	}
	r.all, _ = replacer(r.secrets, 1)
	r.long, r.forms = replacer(r.secrets, shortSecret)
}

func replacer(secrets []string, shortest int) (*strings.Replacer, []string) {
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
	forms = slices.Compact(forms)
	for _, f := range forms {
		pairs = append(pairs, f, hidden)
	}
	return strings.NewReplacer(pairs...), forms
}

// spellings are the forms in which a value travels.
func spellings(s string) []string {
	b := []byte(s)
	query, path := url.QueryEscape(s), url.PathEscape(s)
	out := []string{
		s,
		base64.RawStdEncoding.EncodeToString(b), base64.StdEncoding.EncodeToString(b),
		base64.RawURLEncoding.EncodeToString(b), base64.URLEncoding.EncodeToString(b),
		hex.EncodeToString(b), strings.ToUpper(hex.EncodeToString(b)),
		query, path, lowerEscapes(query), lowerEscapes(path),
		escapeJSON(s), strings.ReplaceAll(escapeJSON(s), "/", `\/`), unescapedJSON(s),
	}
	for before := range 3 {
		out = append(out, inside(base64.RawStdEncoding, b, before), inside(base64.RawURLEncoding, b, before))
	}
	return slices.DeleteFunc(out, func(f string) bool { return f == "" })
}

// inside is what the base64 of a longer text shows of b, wherever the text around it puts b in a
// group of three: the characters that b alone decides. "" if they are few.
func inside(e *base64.Encoding, b []byte, before int) string {
	text := e.EncodeToString(append(make([]byte, before), b...))
	from, to := (before*8+5)/6, (before+len(b))*8/6
	if to-from < shortSecret {
		return ""
	}
	return text[from:to]
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// unescapedJSON leaves <, > and & as they are, as most writers do.
func unescapedJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// Text hides the secrets in a text, but for those so short that ordinary words would go with them.
func (r *Redactor) Text(s string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.text(s)
}

func (r *Redactor) text(s string) string { return r.cut(r.long.Replace(s)) }

// cut hides the beginning of a secret where a text was cut in the middle of it: at the end, before
// an ellipsis or a closing quote.
func (r *Redactor) cut(s string) string {
	for _, form := range r.forms {
		head := form[:min(len(form), shortCut)]
		for from := 0; ; {
			i := strings.Index(s[from:], head)
			if i < 0 {
				break
			}
			i += from
			end := i + len(head)
			for end < len(s) && end-i < len(form) && s[end] == form[end-i] {
				end++
			}
			from = end
			for ; end >= i+len(head); end-- { // the secret itself may go on with a quote
				if rest := s[end:]; rest == "" || strings.HasPrefix(rest, "…") || rest[0] == '"' || rest[0] == '\'' {
					s, from = s[:i]+hidden+rest, i+len(hidden)
					break
				}
			}
		}
	}
	return s
}

// Redact returns a copy that may be recorded.
func (r *Redactor) Redact(ex wire.Exchange) wire.Exchange {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ex.Req.Target = r.text(ex.Req.Target)
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
	ex.Err = r.cut(r.all.Replace(ex.Err))
	return ex
}

func (r *Redactor) bytes(b []byte) []byte {
	if len(b) == 0 {
		return b // nil and empty mean different things
	}
	return []byte(r.text(string(b)))
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
			out[i].Value = r.cut(r.all.Replace(f.Value))
		}
		out[i].Name = r.long.Replace(f.Name) // a target may echo anything anywhere
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
