package seer

import (
	"encoding/json"
	"math/big"
	"testing"
)

func TestIntegerSpellings(t *testing.T) {
	for text, want := range map[string]int{"20": 20, "20.0": 20, "2e1": 20, "2.0E+1": 20, "-3": -3, "0": 0, "-0": 0} {
		var i integer
		if err := json.Unmarshal([]byte(text), &i); err != nil || int(i) != want {
			t.Errorf("%s reads as %d, %v; want %d", text, i, err, want)
		}
	}
	for _, text := range []string{"1.5", "1e-1", "1e10", `"20"`, "true", "[]"} {
		var i integer
		if err := json.Unmarshal([]byte(text), &i); err == nil {
			t.Errorf("%s reads as %d", text, i)
		}
	}
}

func FuzzInteger(f *testing.F) {
	for _, s := range []string{"20", "2e1", "1.5", "-0", "1e400", "99999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var i integer
		if !json.Valid([]byte(s)) || json.Unmarshal([]byte(s), &i) != nil || s == "null" {
			return
		}
		exact, ok := new(big.Rat).SetString(s)
		if ok && exact.Cmp(new(big.Rat).SetInt64(int64(i))) != 0 {
			t.Fatalf("%s reads as %d", s, i)
		}
	})
}
