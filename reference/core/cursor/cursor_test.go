package cursor_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/url"
	"testing"
	"time"

	"assay.kit/reference/core/cursor"
)

func sample() cursor.Content {
	return cursor.Content{
		Expires: time.Date(2026, 10, 1, 0, 15, 0, 1000, time.UTC), Watermark: 42, Filters: cursor.Hash("/p", url.Values{"a": {"1"}}),
		Order: "-created_at", Seq: 7, Key: "sé",
	}
}

func TestRoundTrip(t *testing.T) {
	keys, scope := cursor.NewKeys(), cursor.Scope("listJobs", "w", "c")
	s, err := cursor.Seal(keys, scope, cursor.Encode(sample()))
	if err != nil {
		t.Fatal(err)
	}
	if url.QueryEscape(s) != s {
		t.Errorf("%q is not safe in a URL", s)
	}
	plain, err := cursor.Open(keys, scope, s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := cursor.Decode(plain); err != nil || got != sample() {
		t.Errorf("got %+v, %v; want %+v", got, err, sample())
	}
}

func TestOnlyItsOwnScopeOpens(t *testing.T) {
	keys := cursor.NewKeys()
	s, err := cursor.Seal(keys, cursor.Scope("op", "w", "c"), []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range [][]byte{cursor.Scope("op2", "w", "c"), cursor.Scope("op", "w2", "c"), cursor.Scope("op", "w", "c2"), cursor.Scope("opw", "", "c"), nil} {
		if _, err := cursor.Open(keys, scope, s); !errors.Is(err, cursor.ErrInvalid) {
			t.Errorf("scope %q: %v, want ErrInvalid", scope, err)
		}
	}
	if _, err := cursor.Open(cursor.NewKeys(), cursor.Scope("op", "w", "c"), s); !errors.Is(err, cursor.ErrInvalid) {
		t.Errorf("another key: %v, want ErrInvalid", err)
	}
}

func TestOlderKeyStillOpens(t *testing.T) {
	keys := cursor.NewKeys()
	s, err := cursor.Seal(keys, nil, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	keys.Current, keys.Secrets[2] = 2, bytes.Repeat([]byte{9}, 32)
	if got, err := cursor.Open(keys, nil, s); err != nil || string(got) != "x" {
		t.Errorf("after a rotation: %q, %v", got, err)
	}
}

// TestEveryChangeIsRefused flips every bit, cuts at every length, and re-encodes.
func TestEveryChangeIsRefused(t *testing.T) {
	keys := cursor.NewKeys()
	s, err := cursor.Seal(keys, nil, cursor.Encode(sample()))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what, changed string) {
		t.Helper()
		if _, err := cursor.Open(keys, nil, changed); !errors.Is(err, cursor.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			flipped := bytes.Clone(raw)
			flipped[i] ^= 1 << bit
			refused("a flipped bit", base64.RawURLEncoding.EncodeToString(flipped))
		}
	}
	for i := range s {
		refused("cut", s[:i])
	}
	refused("padded", base64.URLEncoding.EncodeToString(raw)+"=")
	refused("a line end", s[:4]+"\n"+s[4:])
	refused("followed", s+"A")
	refused("standard alphabet", "+/"+s)
}

func TestStrictTrailingBits(t *testing.T) {
	keys := cursor.NewKeys()
	for n := range 3 { // one of three lengths leaves spare bits in the last character
		s, err := cursor.Seal(keys, nil, make([]byte, n))
		if err != nil {
			t.Fatal(err)
		}
		for c := range 128 {
			other := s[:len(s)-1] + string(rune(c))
			if got, err := cursor.Open(keys, nil, other); err == nil && other != s {
				t.Errorf("%q opens like %q: %q", other, s, got)
			}
		}
	}
}

func TestHash(t *testing.T) {
	base := cursor.Hash("/p", url.Values{"a": {"1"}, "limit": {"5"}, "cursor": {"x"}}, "limit", "cursor")
	if base != cursor.Hash("/p", url.Values{"a": {"1"}, "limit": {"6"}}, "limit", "cursor") {
		t.Error("page size or cursor count as filters")
	}
	for _, q := range []url.Values{{}, {"a": {"2"}}, {"b": {"1"}}, {"a": {"1"}, "b": {""}}, {"a": {"1", ""}}, {"a": {"1a"}}} {
		if base == cursor.Hash("/p", q, "limit", "cursor") {
			t.Errorf("%v has the same hash", q)
		}
	}
	if base == cursor.Hash("/q", url.Values{"a": {"1"}}) {
		t.Error("the path does not count")
	}
}

func TestBindsAndExpired(t *testing.T) {
	c := sample()
	if !cursor.Binds(c, c.Filters, c.Order) || cursor.Binds(c, [16]byte{}, c.Order) || cursor.Binds(c, c.Filters, "created_at") {
		t.Error("Binds")
	}
	if cursor.Expired(c, c.Expires.Add(-1)) || !cursor.Expired(c, c.Expires) {
		t.Error("Expired")
	}
}

func FuzzOpen(f *testing.F) {
	keys := cursor.Keys{Current: 1, Secrets: map[byte][]byte{1: bytes.Repeat([]byte{7}, 32)}}
	s, err := cursor.Seal(keys, nil, cursor.Encode(sample()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s)
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, other string) {
		plain, err := cursor.Open(keys, nil, other)
		if err != nil {
			return
		}
		if !bytes.Equal(plain, cursor.Encode(sample())) {
			t.Errorf("%q opens to what was never sealed", other)
		}
		if raw, err := base64.RawURLEncoding.DecodeString(other); err != nil || base64.RawURLEncoding.EncodeToString(raw) != other {
			t.Errorf("%q is a second spelling", other)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(cursor.Encode(sample()))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := cursor.Decode(b)
		if err != nil {
			return
		}
		if again, err := cursor.Decode(cursor.Encode(c)); err != nil || again != c {
			t.Errorf("%+v, encoded and decoded, is %+v (%v)", c, again, err)
		}
	})
}
