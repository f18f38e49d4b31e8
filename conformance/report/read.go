package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxReport is the largest report that Read takes, in bytes.
const MaxReport = 256 << 20

// Read reads a report that WriteJSON wrote, by this version of the kit or one that only added members
// to the schema. Drawn values stay as they are spelled, as json.RawMessage, so that writing the report
// again gives the same in every format. Errors name the line and column, or the member.
func Read(in io.Reader) (*Report, error) { return read(in, MaxReport) }

func read(in io.Reader, most int64) (*Report, error) {
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("report cannot be read: %w", err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("report is larger than %d MiB; that is not one of ours", most>>20)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("report is no UTF-8")
	}
	if err := schemaOf(data); err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, placed(data, err)
	}
	if err := r.known(); err != nil {
		return nil, err
	}
	return &r, nil
}

// Load is Read of a file; its errors name the file.
func Load(path string) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("report cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	r, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// schemaOf looks at the name first: a document that is something else would fail in strange places.
func schemaOf(data []byte) error {
	var head struct {
		Schema string `json:"schema"`
	}
	err := json.Unmarshal(data, &head)
	var kind *json.UnmarshalTypeError
	switch {
	case err != nil && !errors.As(err, &kind):
		return placed(data, err)
	case head.Schema == Schema:
		return nil
	case strings.HasPrefix(head.Schema, "assay.report/"):
		return fmt.Errorf("report has schema %.60q, and this version of assay reads %q; use the version that wrote it", head.Schema, Schema)
	case head.Schema == "":
		return fmt.Errorf("not a report of assay: it has no member schema with %q", Schema)
	default:
		return fmt.Errorf("not a report of assay: its schema is %.60q, not %q", head.Schema, Schema)
	}
}

// placed says where in the document an error is.
func placed(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("no JSON report:%s: %w", lineColumn(data, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("report:%s: %s must be %s, not %s", lineColumn(data, kind.Offset), orDocument(kind.Field), kind.Type, kind.Value)
	default:
		return fmt.Errorf("report: %w", err)
	}
}

func orDocument(field string) string {
	if field == "" {
		return "the document"
	}
	return field
}

// lineColumn is where the byte before an offset is, both from 1.
func lineColumn(data []byte, offset int64) string {
	before := data[:max(0, min(offset-1, int64(len(data))))]
	return fmt.Sprintf("%d:%d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}

// known refuses verdicts that no writer would know how to show.
func (r *Report) known() error {
	if !slices.Contains([]Overall{Conformant, Violations, Undecided, OverallError}, r.Verdict) {
		return fmt.Errorf("report: verdict %.40q is none", r.Verdict)
	}
	for i, q := range r.Requirements {
		if err := knownVerdict(fmt.Sprintf("requirements[%d] (%.60s)", i, q.ID), q.Verdict, q.Claims); err != nil {
			return err
		}
	}
	for i, cs := range r.Cases {
		if err := knownVerdict(fmt.Sprintf("cases[%d] (%.60s)", i, cs.ID), cs.Verdict, cs.Claims); err != nil {
			return err
		}
	}
	for i, f := range r.Findings {
		if f.Verdict != Fail && f.Verdict != Warn {
			return fmt.Errorf("report: findings[%d] (%.60s): verdict is %.40q, not fail or warn", i, f.Claim, f.Verdict)
		}
		for j, p := range f.Pictures {
			if len(p.Data) > MaxPicture {
				return fmt.Errorf("report: findings[%d] (%.60s): pictures[%d] is larger than %d bytes", i, f.Claim, j, MaxPicture)
			}
		}
	}
	return nil
}

func knownVerdict(at string, v Verdict, claims []Claim) error {
	for _, v := range append([]Verdict{v}, verdictsOf(claims)...) {
		if _, ok := rank[v]; !ok {
			return fmt.Errorf("report: %s: verdict %.40q is none of %v", at, v, slices.Sorted(maps.Keys(rank)))
		}
	}
	return nil
}

func verdictsOf(claims []Claim) []Verdict {
	out := make([]Verdict, 0, len(claims))
	for _, c := range claims {
		out = append(out, c.Verdict)
	}
	return out
}

// UnmarshalJSON implements json.Unmarshaler; the value keeps its spelling, order of members included.
func (d *Draw) UnmarshalJSON(data []byte) error {
	var raw struct {
		Label string          `json:"label"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*d = Draw{Label: raw.Label, Value: raw.Value}
	return nil
}
