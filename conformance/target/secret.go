package target

import (
	"fmt"
	"log/slog"
)

const hidden = "***"

// Secret is a value that must not reach a report, a log or an error. Every way of printing or
// encoding it gives "***"; Reveal is the only door. The value is held by a closure because fmt
// walks into unexported fields by reflection without asking String.
type Secret struct {
	reveal func() string
	source string // how the profile wrote it, if it refers to a variable
}

// NewSecret hides a value.
func NewSecret(v string) Secret {
	if v == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return v }}
}

// Reveal gives the value, "" for the zero Secret. Its use belongs next to the wire and nowhere else.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.reveal == nil }

func (s Secret) String() string               { return hidden }
func (s Secret) GoString() string             { return hidden }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(hidden)) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
