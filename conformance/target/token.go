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
// expires, as its JSON answer (RFC 6749 §5.1: access_token, expires_in) or the exp of a JWT says;
// one that says nothing is kept for the run.
type tokens struct {
	profile *Profile
	redact  *Redactor
	now     func() time.Time

	mu    sync.Mutex
	known map[string]issued
}

type issued struct {
	token   Secret
	expires time.Time // zero: not known
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
	if ok && (k.expires.IsZero() || t.now().Before(k.expires.Add(-renewBefore))) {
		return k.token, nil
	}
	out, err := run(ctx, c.Command, nil, commandTimeout)
	if err != nil {
		return Secret{}, fmt.Errorf("not sent: the credential command of role %q failed: %w", role, err)
	}
	k, err = readToken(out, t.now())
	if err != nil {
		return Secret{}, fmt.Errorf("not sent: the credential command of role %q: %w", role, err)
	}
	t.redact.Add(k.token)
	t.known[role] = k
	return k.token, nil
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
