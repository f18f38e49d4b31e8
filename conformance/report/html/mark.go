package html

import "assay.kit/conformance/report"

// mark is how a verdict is shown: never by colour alone, but by a word and a shape too.
type mark struct {
	Class string // of the style sheet, and the name of the shape
	Word  string
}

// verdicts in the order of the filter: what needs a person comes first.
var verdicts = [...]report.Verdict{report.Fail, report.Error, report.Warn, report.Inconclusive, report.Pass,
	report.NotExercised, report.NotApplicable}

func markOf(v report.Verdict) mark {
	switch v {
	case report.Fail, report.Error, report.Warn, report.Inconclusive, report.Pass:
		return mark{string(v), string(v)}
	case report.NotExercised:
		return mark{"skipped", "not exercised"}
	case report.NotApplicable:
		return mark{"absent", "not applicable"}
	default: // a report of another version, or no report of ours
		return mark{"error", report.Clean(string(v))}
	}
}

func overallMark(v report.Overall) mark {
	switch v {
	case report.Conformant:
		return mark{"pass", "Conformant"}
	case report.Violations:
		return mark{"fail", "Violations"}
	case report.Undecided:
		return mark{"inconclusive", "Inconclusive"}
	case report.OverallError:
		return mark{"error", "Error of the kit"}
	default:
		return mark{"error", report.Clean(string(v))}
	}
}
