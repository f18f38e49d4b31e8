// Package cursor holds the pure rules of traversal: what a cursor says, how it is sealed, and when
// it is refused. It knows no store.
package cursor

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
)

// ErrInvalid is the one error for whatever does not open: wrong form, unknown key, changed byte,
// another principal. More detail would be an oracle.
var ErrInvalid = errors.New("invalid cursor")

const layout = 1 // version of Content's encoding

// Content is what a cursor remembers between two pages.
type Content struct {
	Expires   time.Time
	Watermark int64    // items with a higher sequence number are not part of the traversal
	Filters   [16]byte // Hash of the filters that it was made under
	Order     string   // value of the sort parameter
	Seq       int64    // of the last item
	Key       string   // sort key of the last item, "" if the order is that of Seq
}

// Hash condenses the query parameters that a cursor binds: all but those named (the cursor itself
// and the page size, which may change in mid-walk), and the path.
func Hash(path string, q url.Values, except ...string) [16]byte {
	names := make([]string, 0, len(q))
	for name := range q {
		if !slices.Contains(except, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var b []byte
	b = appendString(b, path)
	for _, name := range names {
		b = appendString(b, name)
		b = binary.AppendUvarint(b, uint64(len(q[name])))
		for _, v := range q[name] {
			b = appendString(b, v)
		}
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// Binds reports whether a cursor may go on under the filters and order of this request.
func Binds(c Content, filters [16]byte, order string) bool {
	return c.Filters == filters && c.Order == order
}

// Expired reports whether the cursor's life has ended.
func Expired(c Content, now time.Time) bool { return !now.Before(c.Expires) }

// Encode gives the binary form of a Content.
func Encode(c Content) []byte {
	b := make([]byte, 0, 64+len(c.Order)+len(c.Key))
	b = append(b, layout)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Expires.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Watermark))
	b = append(b, c.Filters[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Seq))
	b = appendString(b, c.Order)
	return appendString(b, c.Key)
}

// Decode reads the form that Encode gives; anything else is ErrInvalid.
func Decode(b []byte) (Content, error) {
	if len(b) < 41 || b[0] != layout {
		return Content{}, ErrInvalid
	}
	c := Content{
		Expires:   time.UnixMicro(int64(binary.BigEndian.Uint64(b[1:]))).UTC(),
		Watermark: int64(binary.BigEndian.Uint64(b[9:])),
		Filters:   [16]byte(b[17:33]),
		Seq:       int64(binary.BigEndian.Uint64(b[33:])),
	}
	var ok bool
	if c.Order, b, ok = cutString(b[41:]); !ok {
		return Content{}, ErrInvalid
	}
	if c.Key, b, ok = cutString(b); !ok || len(b) > 0 {
		return Content{}, ErrInvalid
	}
	return c, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func cutString(b []byte) (s string, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return "", nil, false
	}
	return string(b[w : w+int(n)]), b[w+int(n):], true
}

// Keys are the AES-256 keys by id. New cursors use Current; the others still open.
type Keys struct {
	Current byte            `json:"current"`
	Secrets map[byte][]byte `json:"secrets"` // 32 bytes each
}

// NewKeys makes one random key.
func NewKeys() Keys {
	k := make([]byte, 32)
	rand.Read(k) // never fails, by its documentation
	return Keys{Current: 1, Secrets: map[byte][]byte{1: k}}
}

// Scope is the associated data that ties a cursor to an operation and to who walks.
func Scope(operation, workspace, client string) []byte {
	return appendString(appendString(appendString(nil, operation), workspace), client)
}

// encoding is strict: a cursor has one spelling, so that re-encoding one is a change.
var encoding = base64.RawURLEncoding.Strict()

// Seal encrypts and authenticates plain (AES-256-GCM, random nonce) and binds it to scope. The form
// is base64url of key id, nonce and sealed text: safe in a URL as it is.
func Seal(k Keys, scope, plain []byte) (string, error) {
	aead, err := k.aead(k.Current)
	if err != nil {
		return "", err
	}
	sealed := aead.Seal([]byte{k.Current}, nil, plain, append([]byte{k.Current}, scope...))
	return encoding.EncodeToString(sealed), nil
}

// Open reverses Seal; whatever goes wrong is ErrInvalid.
func Open(k Keys, scope []byte, s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") { // base64 skips them, which would give one cursor two spellings
		return nil, ErrInvalid
	}
	b, err := encoding.DecodeString(s)
	if err != nil || len(b) < 1 {
		return nil, ErrInvalid
	}
	aead, err := k.aead(b[0])
	if err != nil {
		return nil, ErrInvalid
	}
	plain, err := aead.Open(nil, nil, b[1:], append([]byte{b[0]}, scope...))
	if err != nil {
		return nil, ErrInvalid
	}
	return plain, nil
}

func (k Keys) aead(id byte) (cipher.AEAD, error) {
	secret, ok := k.Secrets[id]
	if !ok {
		return nil, ErrInvalid
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
