package seer

import (
	"encoding/json"
	"fmt"

	"assay.kit/reference/core"
	"assay.kit/reference/seer/market"
)

type indicatorsInput struct {
	Instrument string             `json:"instrumentId"`
	Indicators []indicator        `json:"indicators"`
	Adjustment *market.Adjustment `json:"adjustment"`
	AsOf       *string            `json:"as_of"`
}

type indicatorsData struct {
	Instrument string            `json:"instrumentId"`
	Calendar   string            `json:"calendar"`
	Adjustment market.Adjustment `json:"adjustment"`
	Session    *string           `json:"session"` // the last one used, null if there is none
	Indicators []market.Reading  `json:"indicators"`
}

// shortHistory is the reason and the warning for an indicator that cannot be computed.
const shortHistory = "insufficient_history"

// indicators answers market.indicators.
func (s *Seer) indicators(sys core.System, c call) (result, *core.Problem) {
	var in indicatorsInput
	if err := json.Unmarshal(c.input, &in); err != nil {
		return result{}, failed(sys)
	}
	l, p := s.listing(sys, in.Instrument)
	if p != nil {
		return result{}, p
	}
	asOf, p := instant(sys, in.AsOf, c.now, c.at+"/as_of")
	if p != nil {
		return result{}, p
	}
	data := indicatorsData{Instrument: l.ID, Calendar: market.CalendarName, Adjustment: adjustment(in.Adjustment)}
	if latest, ok := s.market.Latest(1, asOf); ok {
		session := latest.Last.String()
		data.Session = &session
	}
	var warnings []warning
	longest := 1
	for _, given := range in.Indicators {
		i := given.of()
		r := s.market.Read(l, i, data.Adjustment, asOf)
		data.Indicators = append(data.Indicators, r)
		_, most := i.Need()
		longest = max(longest, most)
		if r.Value == nil {
			warnings = append(warnings, warning{shortHistory, fmt.Sprintf("The history is too short for %s over %d sessions.", i.Name, i.Window)})
		}
	}
	out := newResult(c.tool.Domain, data, s.whole(longest, asOf), asOf, short(len(warnings)))
	out.Warnings = append(out.Warnings, warnings...)
	return out, nil
}

// short is the list of missing reasons when n things have too little history.
func short(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{shortHistory}
}

func adjustment(given *market.Adjustment) market.Adjustment {
	if given == nil {
		return market.SplitOnly
	}
	return *given
}
