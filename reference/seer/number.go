package seer

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"assay.kit/reference/seer/market"
)

// integer reads every spelling of a JSON number that JSON Schema takes for an integer: 20, 20.0, 2e1.
type integer int

// UnmarshalJSON implements json.Unmarshaler.
func (i *integer) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return fmt.Errorf("%s is no integer of 32 bits", b)
	}
	*i = integer(f)
	return nil
}

var _ json.Unmarshaler = (*integer)(nil)

// indicator is market.Indicator as it is sent.
type indicator struct {
	Name   string  `json:"name"`
	Window integer `json:"window"`
}

func (i indicator) of() market.Indicator {
	return market.Indicator{Name: i.Name, Window: int(i.Window)}
}
