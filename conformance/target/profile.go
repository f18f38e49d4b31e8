package target

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"assay.kit/spec"
)

// Profile is what the suite cannot know from the contract: where the target is, which credentials
// it may use, which data exists there, and how to do what the API itself does not offer.
type Profile struct {
	Contract    string // name of the contract, "" if the command line names it
	BaseURL     string // http or https; a path prefix is kept; no trailing slash
	Anonymous   bool   // the target takes no credential: the primary's requests carry none
	MCPURL      string // "auto": from the connection operation; "" none
	TLS         TLS
	Proxy       Secret // http://[user:password@]host[:port]; zero: none. Loopback targets are reached without it
	Headers     []Header
	Absent      []string // operation ids that the target does not have, declared by its owner
	Sandbox     bool
	Credentials map[string]Credential // by role; a rotation is rotated_old and rotated_new
	Values      map[string]any        // data that exists at the target, by member or parameter name; numbers are json.Number
	Hooks       map[Capability]Hook
	Budget      Budget

	secrets []Secret // what variables gave in values, hooks and commands
}

// TLS names PEM files: an authority to trust besides the system's, and a client certificate. Insecure
// trusts any certificate; New refuses it for a target that is not on loopback.
type TLS struct {
	CA, Cert, Key string
	Insecure      bool
}

// Header is sent with every request. No report shows its value; one that came from a variable is not
// written into a profile either.
type Header struct {
	Name   string
	Value  string // "" if Secret is set
	Secret Secret
}

// Credential is a bearer token, or a command that prints one. Refresh is how long such a token is
// used; 0: until it expires, as it says itself, or is refused.
type Credential struct {
	Bearer  Secret
	Command []string
	Refresh time.Duration
}

// Hook does something to the target from outside. Exactly one of Exec and HTTP is set. A
// placeholder {name} in Exec, URL and Body is replaced by the argument of that name.
type Hook struct {
	Exec []string
	HTTP *HTTPHook
}

// HTTPHook is one request; any 2xx is success. Body is nil, a text that is sent as it is, or a JSON value.
type HTTPHook struct {
	Method string
	URL    string
	Body   any
}

// Budget bounds a run. Zero means: no bound set by the profile.
type Budget struct {
	Requests int
	Rate     float64 // requests per second
	Time     time.Duration
	Jobs     int // active jobs at a time
}

// maxProfile bounds the file; a profile is written by hand.
const maxProfile = 1 << 20

// Load reads a profile. lookup resolves ${NAME}, os.LookupEnv by default. All that is wrong comes
// in one error, each line with file:line.
func Load(path string, lookup func(string) (string, bool)) (*Profile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("profile %s cannot be read: %w", path, err)
	}
	if info.Size() > maxProfile {
		return nil, fmt.Errorf("profile %s has %d bytes; the limit is %d", path, info.Size(), maxProfile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("profile %s cannot be read: %w", path, err)
	}
	return parse(path, data, lookup, true)
}

// FromEnvironment is the default profile: the base URL (targetURL, else the contract's variable)
// and one bearer token from the contract's variable.
func FromEnvironment(c *spec.Contract, targetURL string, lookup func(string) (string, bool)) (*Profile, error) {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	p := &Profile{Contract: c.Name, BaseURL: targetURL, MCPURL: "auto", Credentials: map[string]Credential{}}
	if p.BaseURL == "" {
		v, err := fromVariable(c.Doc.BaseURLEnv, "the target's base URL", "pass --target URL, or a profile with base_url", lookup)
		if err != nil {
			return nil, err
		}
		p.BaseURL = v
	}
	base, err := checkBaseURL(p.BaseURL)
	if err != nil {
		return nil, err
	}
	p.BaseURL = base
	token, err := fromVariable(c.Doc.TokenEnv, "the primary credential's token", "pass a profile with credentials.primary", lookup)
	if err != nil {
		return nil, err
	}
	if err := checkToken(token); err != nil {
		return nil, fmt.Errorf("variable %s: %w", c.Doc.TokenEnv, err)
	}
	p.Credentials[string(Primary)] = Credential{Bearer: Secret{reveal: NewSecret(token).reveal, source: "${" + c.Doc.TokenEnv + "}"}}
	return p, nil
}

func fromVariable(name, what, instead string, lookup func(string) (string, bool)) (string, error) {
	if name == "" {
		return "", fmt.Errorf("the contract names no environment variable for %s; %s", what, instead)
	}
	if v, ok := lookup(name); ok && v != "" {
		return v, nil
	}
	return "", fmt.Errorf("variable %s is not set: it gives %s; set it, or %s", name, what, instead)
}

// Has reports whether the profile gives a capability.
func (p *Profile) Has(c Capability) bool {
	r, ok := c.row()
	switch {
	case !ok:
		return false
	case r.kind == flagKind:
		return p.Sandbox
	case r.kind == faceKind:
		return p.MCPURL != ""
	case r.kind == hookKind:
		_, ok := p.Hooks[c]
		return ok
	case c == Rotated:
		return p.HasRole(RotatedOld) && p.HasRole(RotatedNew)
	default:
		return p.HasRole(string(c))
	}
}

// runsCommands reports whether a program of the profile's is started.
func (p *Profile) runsCommands() bool {
	for _, h := range p.Hooks {
		if len(h.Exec) > 0 {
			return true
		}
	}
	for _, c := range p.Credentials {
		if len(c.Command) > 0 {
			return true
		}
	}
	return false
}

// Capabilities lists what the profile gives, in the order of the closed list.
func (p *Profile) Capabilities() []Capability {
	return slices.DeleteFunc(AllCapabilities(), func(c Capability) bool { return !p.Has(c) })
}

// HasRole reports whether there is a credential for a role.
func (p *Profile) HasRole(role string) bool {
	_, ok := p.Credentials[role]
	return ok
}

// Roles is the closed list of names that a request may be sent under.
func Roles() []string {
	var out []string
	for _, r := range rows() {
		switch {
		case r.kind != credentialKind:
		case r.name == Rotated:
			out = append(out, RotatedOld, RotatedNew)
		default:
			out = append(out, string(r.name))
		}
	}
	return out
}

// checkBaseURL accepts http(s)://host[:port][/prefix] and returns it without a trailing slash.
func checkBaseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil {
		// url.Error quotes the input, and that may hold a password.
		return "", errors.New("the base URL is no URL; write it as https://host[:port][/prefix]")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("base URL: scheme %q is neither http nor https", u.Scheme)
	case u.User != nil:
		return "", errors.New("base URL: it carries credentials; move them to credentials.primary")
	case u.Hostname() == "":
		return "", errors.New("base URL: it names no host")
	case strings.ContainsAny(s, "?#"):
		return "", errors.New("base URL: it carries a query or fragment; remove it")
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return "", errors.New("base URL: it holds a blank or a character outside ASCII; escape it")
	}
	return strings.TrimRight(s, "/"), nil
}

// checkToken refuses what could not stand in one header line (RFC 6750 §2.1 is narrower; a target
// may issue more).
func checkToken(s string) error {
	if s == "" {
		return errors.New("the token is empty")
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return fmt.Errorf("the token holds a blank, line break or byte outside ASCII at position %d", i+1)
		}
	}
	return nil
}
