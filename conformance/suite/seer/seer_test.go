package seer

import (
	"encoding/json"
	"testing"
)

func TestRising(t *testing.T) {
	for name, c := range map[string]struct {
		in   any
		good bool
	}{
		"rising, not in the order of the texts": {map[string]any{"0.50": json.Number("0.1"), "0.05": json.Number("-1"), "0.9": json.Number("0.1")}, true},
		"falling":                               {map[string]any{"0.1": json.Number("2"), "0.2": json.Number("1.999")}, false},
		"no probability":                        {map[string]any{"1.5": json.Number("2")}, false},
		"not a number":                          {map[string]any{"0.5": "NaN"}, false},
		"beyond all bounds":                     {map[string]any{"0.5": json.Number("1e999")}, false},
		"none":                                  {map[string]any{}, false},
		"no object":                             {nil, false},
	} {
		if err := rising(c.in); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
