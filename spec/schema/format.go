package schema

import (
	"encoding/json"
	"errors"
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// numberFormats are the formats that OpenAPI adds to JSON Schema (OAS format registry); the
// library would take them for annotations.
func numberFormats() []*jsonschema.Format {
	return []*jsonschema.Format{
		{Name: "int32", Validate: integerOf(32)},
		{Name: "int64", Validate: integerOf(64)},
	}
}

// integerOf accepts what is no number, and integers that fit a signed integer of that many bits.
func integerOf(bits uint) func(any) error {
	limit := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return func(v any) error {
		n, ok := v.(json.Number)
		if !ok {
			return nil
		}
		r, ok := new(big.Rat).SetString(string(n))
		if !ok || !r.IsInt() {
			return errors.New("no integer")
		}
		i := r.Num()
		if i.Cmp(limit) >= 0 || i.Cmp(new(big.Int).Neg(limit)) < 0 {
			return errors.New("out of range")
		}
		return nil
	}
}
