package wire

import "encoding/json"

// oddField is a field whose name or value is no UTF-8, in the form that Bytes has.
type oddField struct {
	Name  Bytes `json:"name"`
	Value Bytes `json:"value"`
}

// MarshalJSON implements json.Marshaler: no byte of a header is lost.
func (f Field) MarshalJSON() ([]byte, error) {
	return json.Marshal(oddField{Bytes(f.Name), Bytes(f.Value)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Field) UnmarshalJSON(data []byte) error {
	var odd oddField
	if err := json.Unmarshal(data, &odd); err != nil {
		return err
	}
	*f = Field{string(odd.Name), string(odd.Value)}
	return nil
}
