package seer

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// money is amount × 10^-scale of the asset; the amount is an integer.
type money struct {
	Amount string  `json:"amount"`
	Asset  string  `json:"asset"`
	Scale  integer `json:"scale"`
}

func readMoney(raw json.RawMessage) (m money, err error) {
	err = json.Unmarshal(raw, &m)
	return m, err
}

// value is the exact amount in whole units of the asset.
func (m money) value() (*big.Rat, error) {
	amount, ok := new(big.Int).SetString(m.Amount, 10)
	if !ok || m.Scale < 0 || m.Scale > 18 {
		return nil, fmt.Errorf("an amount of %s is not an integer with a scale of 0 to 18", m.Asset)
	}
	unit, _ := new(big.Int).SetString("1"+strings.Repeat("0", int(m.Scale)), 10)
	return new(big.Rat).SetFrac(amount, unit), nil
}

// covers reports whether m is at least n, in the same asset: no rate between assets is known here.
func (m money) covers(n money) (bool, error) {
	mine, err := m.value()
	if err != nil {
		return false, err
	}
	theirs, err := n.value()
	if err != nil {
		return false, err
	}
	return m.Asset == n.Asset && mine.Cmp(theirs) >= 0, nil
}

// part is n parts in whole of the amount, rounded down to a whole number of its least unit.
func (m money) part(n, whole int64) (*money, error) {
	amount, ok := new(big.Int).SetString(m.Amount, 10)
	if !ok {
		return nil, fmt.Errorf("an amount of %s is no integer", m.Asset)
	}
	amount.Mul(amount, big.NewInt(n))
	amount.Quo(amount, big.NewInt(whole))
	m.Amount = amount.String()
	return &m, nil
}
