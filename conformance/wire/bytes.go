package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bytes is a body. In JSON it is a string, so that a report can be read; what is no UTF-8 is an
// object {"base64": "…"}, so that no byte is lost.
type Bytes []byte

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	switch {
	case b == nil:
		return []byte("null"), nil
	case utf8.Valid(b):
		return json.Marshal(string(b))
	default:
		return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(b)})
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err == nil {
		*b = nil
		if text != nil {
			*b = Bytes(*text)
		}
		return nil
	}
	var odd struct {
		Base64 *string `json:"base64"`
	}
	if err := json.Unmarshal(data, &odd); err != nil || odd.Base64 == nil {
		return fmt.Errorf("a body is a string or {\"base64\": …}, not %.40s", data)
	}
	raw, err := base64.StdEncoding.DecodeString(*odd.Base64)
	if err != nil {
		return fmt.Errorf("a body's base64: %w", err)
	}
	*b = raw
	return nil
}
