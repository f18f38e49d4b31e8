package report

import (
	"encoding/json"
	"fmt"
	"os"
)

// maxReport bounds a report that is read: the largest a run writes stays well below.
const maxReport = 512 << 20

// Load reads a JSON report that WriteJSON wrote. Members that this version does not know are ignored.
func Load(path string) (*Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("report cannot be read: %w", err)
	}
	if info.Size() > maxReport {
		return nil, fmt.Errorf("report %s has %d bytes; the limit is %d", path, info.Size(), maxReport)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("report cannot be read: %w", err)
	}
	r, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Parse reads the bytes of a JSON report.
func Parse(data []byte) (*Report, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("no JSON report: %w", err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("no report that this version reads: its schema is %q, not %q", head.Schema, Schema)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("no JSON report: %w", err)
	}
	return &r, nil
}
