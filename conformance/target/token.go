package target

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	commandTimeout = 30 * time.Second
	// renewBefore keeps a token from expiring between here and the server.
	renewBefore = 30 * time.Second
)

// tokens resolves roles to bearer tokens. A command's token is kept until shortly before it
// expires, as its JSON answer (RFC 6749 §5.1: access_token, expires_in) or the exp of a JWT says,
// for as long as the profile's refresh says, and at most until the target refuses it.
type tokens struct {
	profile *Profile
	redact  *Redactor
	now     func() time.Time

	mu     sync.Mutex
	known  map[string]issued
	early  int  // renewals because the target refused a token that it had taken before
	frozen bool // a hook has made tokens invalid on purpose: a new one would hide that
}

type issued struct {
	token    Secret
	expires  time.Time // zero: not known
	until    time.Time // when it is renewed; zero: not before it is refused
	accepted bool      // the target has answered it with something else than 401
	renewed  bool      // its refusal has led to another run of the command
}

func newTokens(p *Profile, r *Redactor) *tokens {
	return &tokens{profile: p, redact: r, now: time.Now, known: map[string]issued{}}
}

func (t *tokens) get(ctx context.Context, role string) (Secret, error) {
	c, ok := t.profile.Credentials[role]
	switch {
	case !ok:
		return Secret{}, fmt.Errorf("not sent: the profile has no credential for role %q", role)
	case len(c.Command) == 0:
		return c.Bearer, nil
	}
	t.mu.Lock() // held while the command runs: one run serves all who wait
	defer t.mu.Unlock()
	k, ok := t.known[role]
	if ok && (k.until.IsZero() || t.now().Before(k.until)) {
		return k.token, nil
	}
	k, err := t.issue(ctx, role, c)
	return k.token, err
}

// issue runs the command of a credential and keeps what it printed.
func (t *tokens) issue(ctx context.Context, role string, c Credential) (issued, error) {
	out, err := run(ctx, c.Command, nil, commandTimeout)
	if err != nil {
		return issued{}, fmt.Errorf("not sent: the credential command of role %q failed: %w", role, err)
	}
	now := t.now()
	k, err := readToken(out, now)
	if err != nil {
		return issued{}, fmt.Errorf("not sent: the credential command of role %q: %w", role, err)
	}
	if !k.expires.IsZero() {
		k.until = k.expires.Add(-renewBefore)
	}
	if end := now.Add(c.Refresh); c.Refresh > 0 && (k.until.IsZero() || end.Before(k.until)) {
		k.until = end
	}
	t.redact.Add(k.token)
	t.known[role] = k
	return k, nil
}

// answered takes note of what the target made of a command's token. It reports whether there is
// another one to try: the target has taken this one before and refuses it now, so it has expired.
// Roles whose tokens are meant to be refused have no other.
func (t *tokens) answered(ctx context.Context, role, token string, status int) (another bool) {
	c := t.profile.Credentials[role]
	if len(c.Command) == 0 || status == 0 || role == RotatedOld || role == string(Revoked) || role == string(Expired) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.known[role]
	switch {
	case k.token.Reveal() != token:
		return status == 401 && !t.frozen && !k.token.IsZero() // another lane has renewed it meanwhile
	case status != 401:
		if !k.accepted {
			k.accepted = true
			t.known[role] = k
		}
		return false
	case !k.accepted || k.renewed || t.frozen:
		return false
	}
	k.renewed = true
	t.known[role] = k
	fresh, err := t.issue(ctx, role, c)
	if err != nil {
		return false // the refusal stands
	}
	if fresh.token.Reveal() == token { // it knows no other: do not ask for every refusal
		t.known[role] = k
		return false
	}
	t.early++
	return true
}

// Renewed is how often a command's token was replaced because the target refused what it had taken before.
func (r *REST) Renewed() int {
	r.tokens.mu.Lock()
	defer r.tokens.mu.Unlock()
	return r.tokens.early
}

// hooked takes note of a hook that makes tokens invalid, or valid again.
func (t *tokens) hooked(c Capability) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch c {
	case RevokeGrant, RetireToken:
		t.frozen = true
	case RestoreGrant, RestoreToken:
		t.frozen = false
	}
}

// readToken reads what a credential command printed. Its errors never quote the output.
func readToken(out []byte, now time.Time) (issued, error) {
	text := strings.TrimSpace(string(out))
	var k issued
	if strings.HasPrefix(text, "{") {
		var answer struct {
			Token   string  `json:"access_token"`
			Expires float64 `json:"expires_in"`
		}
		if json.Unmarshal(out, &answer) != nil {
			return k, errors.New("it printed JSON that is not {\"access_token\": TEXT, \"expires_in\": SECONDS}")
		}
		text = answer.Token
		if answer.Expires > 0 && answer.Expires < 1e9 {
			k.expires = now.Add(time.Duration(answer.Expires * float64(time.Second)))
		}
	}
	if err := checkToken(text); err != nil {
		return k, err
	}
	if k.expires.IsZero() {
		k.expires = jwtExpiry(text)
	}
	k.token = NewSecret(text)
	return k, nil
}

// jwtExpiry reads the exp claim of a JWT (RFC 7519 §4.1.4) without trusting it for more than renewal.
func jwtExpiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(raw, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1e11 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}
