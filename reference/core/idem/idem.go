package idem

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/gowebpki/jcs"
)

// version is the first byte of what is hashed. It changes with the canonical form, so that a
// fingerprint of an older form never equals one of a newer by accident.
const version = 1

// ValidKey reports whether a key is 1 to maxLength printable ASCII characters.
func ValidKey(key string, maxLength int) bool {
	if key == "" || maxLength > 0 && len(key) > maxLength {
		return false
	}
	for i := 0; i < len(key); i++ {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return true
}

// Source is all that an identity may be scoped by.
type Source struct {
	Workspace, Client, Method string
	Path                      string // normalised, escaped
	Key                       string
}

// Identity names the request that a key stands for: a hash over the key and the members of scope
// (workspace, client, method, path), each with its length, so that no two sources run together.
func Identity(scope []string, s Source) string {
	h := sha256.New()
	part := func(name, value string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(value)))
		h.Write([]byte(name))
		h.Write(n[:])
		h.Write([]byte(value))
	}
	part("key", s.Key)
	for _, name := range scope {
		switch name {
		case "workspace":
			part(name, s.Workspace)
		case "client":
			part(name, s.Client)
		case "method":
			part(name, s.Method)
		case "path":
			part(name, s.Path)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Canonical gives the JSON Canonicalization Scheme form (RFC 8785) of a body that Decode accepts;
// any other body is Decode's error. No body at all has the empty form.
func Canonical(body []byte) ([]byte, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	if _, err := Decode(body); err != nil {
		return nil, err
	}
	c, err := jcs.Transform(body)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return c, nil
}

// Fingerprint is SHA-256 over a version byte and the canonical form of a body.
func Fingerprint(body []byte) ([]byte, error) {
	c, err := Canonical(body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte{version}, c...))
	return sum[:], nil
}

// Decision is what a request with a key is.
type Decision int

// Decisions: Admit it as new, Replay the first answer, or refuse it as a Conflict.
const (
	Admit Decision = iota
	Replay
	Conflict
)

func (d Decision) String() string { return [...]string{"admit", "replay", "conflict"}[d] }

// Bound is what is kept of the first request of an identity.
type Bound struct {
	Identity    string
	Fingerprint []byte
	Expires     time.Time
}

// Decide compares a request with what its identity is bound to; nil means unbound. A binding holds
// until its expiry, exclusive; then the key is fresh.
func Decide(b *Bound, fingerprint []byte, now time.Time) Decision {
	switch {
	case b == nil || !now.Before(b.Expires):
		return Admit
	case bytes.Equal(b.Fingerprint, fingerprint):
		return Replay
	default:
		return Conflict
	}
}

// Expiry is the end of a binding that is made now: whole seconds, rounded up, since the header that
// announces it (RFC 3339) is compared with clocks that show seconds.
func Expiry(now time.Time, retention time.Duration) time.Time {
	t := now.Add(retention).UTC()
	if s := t.Truncate(time.Second); !s.Equal(t) {
		return s.Add(time.Second)
	}
	return t
}

// Stores reports whether an answer with this status binds its key: only a success does, so that a
// refused request can be corrected, or sent again when its cause is gone.
func Stores(status int) bool { return status >= 200 && status < 300 }
