package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay.kit/conformance/report"
)

// judged is a broken server and what a check of it left: a report and a baseline.
type judged struct {
	profile, report, baseline string
	rep                       report.Report
}

// judgeBroken serves a mutant of notes until the test ends and judges a part of it.
func judgeBroken(t *testing.T, mutant, only string) judged {
	t.Helper()
	dir := t.TempDir()
	j := judged{filepath.Join(dir, "p.yaml"), filepath.Join(dir, "r.json"), filepath.Join(dir, "known.yaml"), report.Report{}}
	ready(t, "--mutant", mutant, "--write-profile", j.profile)
	r := assay(t.Context(), []string{"check", "--profile", j.profile, "--only", only, "--seed", "5", "--report", j.report, "--write-baseline", j.baseline})
	if r.code != exitViolations || !strings.Contains(r.err, "Baseline written to "+j.baseline) {
		t.Fatalf("exit %d\n%s%.3000s", r.code, r.err, r.out)
	}
	b, err := os.ReadFile(j.report)
	if err != nil {
		t.Fatal(err)
	}
	j.rep = readReport(t, b)
	return j
}

const (
	activeMutant  = "transport-media-type-400"
	passiveMutant = "wire-latin1-label"
)

// What a run has written as known passes the next one, listed and marked; one thing more fails it,
// and so does one thing less.
func TestBaseline(t *testing.T) {
	j := judgeBroken(t, activeMutant, "transport.bodies")
	known, err := os.ReadFile(j.baseline)
	if err != nil {
		t.Fatal(err)
	}
	check := func(baseline, only string) (result, report.Report) {
		path := write(t, t.TempDir(), "known.yaml", baseline)
		r := assay(t.Context(), []string{"check", "--profile", j.profile, "--only", only, "--baseline", path, "--format", "json"})
		return r, readReport(t, []byte(r.out))
	}
	r, rep := check(string(known), "transport.bodies")
	if r.code != exitOK || rep.Verdict != report.Conformant || rep.Baseline == nil || rep.Baseline.Known != len(j.rep.Findings) || len(rep.Findings) != len(j.rep.Findings) {
		t.Errorf("all known: exit %d, %s, %+v", r.code, rep.Verdict, rep.Baseline)
	}
	lines := strings.Split(strings.TrimSuffix(string(known), "\n"), "\n")
	if r, rep := check(strings.Join(lines[:len(lines)-1], "\n"), "transport.bodies"); r.code != exitViolations || rep.Baseline.Known != len(j.rep.Findings)-1 {
		t.Errorf("one is new: exit %d, %+v", r.code, rep.Baseline)
	}
	stale := string(known) + "  - {claim: transport.method, case: transport.routes@createNote, verdict: fail, reason: old}\n"
	if r, rep := check(stale, "transport"); r.code != exitViolations || len(rep.Baseline.Stale) != 1 || rep.Baseline.Stale[0].Line != len(lines)+1 {
		t.Errorf("one is stale: exit %d, %+v", r.code, rep.Baseline)
	}
	if r, rep := check(stale, "transport.bodies"); r.code != exitOK || len(rep.Baseline.Stale) != 0 {
		t.Errorf("one was not judged: exit %d, %+v", r.code, rep.Baseline)
	}
	// Written anew over itself, the file is the same but for what holds again, and keeps its reasons.
	path := write(t, t.TempDir(), "known.yaml", strings.Replace(stale, `reason: ""`, `reason: "ours"`, 1))
	args := []string{"check", "--profile", j.profile, "--only", "transport", "--baseline", path, "--write-baseline", path}
	if r := assay(t.Context(), args); r.code != exitViolations || !strings.Contains(r.out, "remove this line: "+path+":") {
		t.Errorf("exit %d\n%.2000s", r.code, r.out)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != strings.Replace(string(known), `reason: ""`, `reason: "ours"`, 1) {
		t.Errorf("%v\n%s", err, b)
	}
}

// Only what failed runs again, with the seed it ran with, whatever else is selected.
func TestRerun(t *testing.T) {
	j := judgeBroken(t, activeMutant, "transport")
	again := func(args ...string) (result, []string) {
		r := assay(t.Context(), append([]string{"check", "--profile", j.profile, "--rerun", j.report, "--format", "json"}, args...))
		var ran []string
		if r.out != "" {
			rep := readReport(t, []byte(r.out))
			for _, c := range rep.Cases {
				if c.Requests > 0 {
					ran = append(ran, c.ID)
				}
			}
			if seed := rep.Seed; seed != 5 && !slices.Contains(args, "--seed") || !rep.Filtered || rep.Effort != "standard" {
				t.Errorf("seed %d, effort %q", seed, rep.Effort)
			}
		}
		return r, ran
	}
	failed := []string{"transport.bodies@createExport", "transport.bodies@createNote", "transport.bodies@createNotebook"}
	if r, ran := again(); r.code != exitViolations || !slices.Equal(ran, failed) {
		t.Errorf("exit %d, ran %v", r.code, ran)
	}
	if r, ran := again("--only", "createNote", "--seed", "8"); r.code != exitViolations || !slices.Equal(ran, failed[1:2]) {
		t.Errorf("exit %d, ran %v", r.code, ran)
	}
	if r, _ := again("--skip", "transport.bodies"); r.code != exitUsage || !strings.Contains(r.err, "none is selected") {
		t.Errorf("%+v", r)
	}
	if r, _ := again("--contract", "seer"); r.code != exitUsage || !strings.Contains(r.err, "it says seer, and the profile") {
		t.Errorf("%+v", r)
	}
	j.rep.Contract.Digest = "sha256:00"
	if r := rerun(t, j); r.code != exitUsage || !strings.Contains(r.err, "(sha256:00), but the contract has changed since") {
		t.Errorf("%+v", r)
	}
	j.rep.Cases, j.rep.Findings = nil, nil
	if r := rerun(t, j); r.code != exitUsage || !strings.Contains(r.err, "there is nothing to run again") {
		t.Errorf("%+v", r)
	}
}

// rerun is a check with the report as it is now.
func rerun(t *testing.T, j judged) result {
	t.Helper()
	b, err := json.Marshal(j.rep)
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, t.TempDir(), "r.json", string(b))
	return assay(t.Context(), []string{"check", "--profile", j.profile, "--rerun", path})
}

func TestReplay(t *testing.T) {
	j := judgeBroken(t, activeMutant, "transport")
	const id = "transport.bodies@createNote"
	if r := assay(t.Context(), []string{"replay", j.report}); r.code != 0 || !strings.Contains(r.out, id+" ") || strings.Count(r.out, "\n") != 4 {
		t.Errorf("%+v", r)
	}
	r := assay(t.Context(), []string{"replay", j.report, id, "--profile", j.profile})
	if r.code != exitViolations || !strings.Contains(r.out, "FAIL  transport.code on createNote\n") || !strings.Contains(r.out, "transport.code happened again.\n") ||
		!strings.Contains(r.out, "seed 5") || strings.Contains(r.out, "createExport") {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
	mended := filepath.Join(t.TempDir(), "mended.yaml")
	ready(t, "--contract", "notes", "--write-profile", mended)
	r = assay(t.Context(), []string{"replay", j.report, id, "--profile", mended})
	if r.code != exitOK || !strings.Contains(r.out, "transport.code did not happen again.\n") {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
	// Without the credential that it needs the case cannot be judged.
	absent := write(t, t.TempDir(), "absent.yaml", "base_url: "+j.rep.Target+"\nabsent: [createNote]\ncredentials: {primary: {bearer: t}}\n")
	r = assay(t.Context(), []string{"replay", j.report, id, "--profile", absent})
	if r.code != exitNotJudged || !strings.Contains(r.out, "could not be judged: "+id+" is not applicable") {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"replay"}, "replay takes a report and one of its cases, but got 0 arguments"},
		{[]string{"replay", "none.json"}, "none.json cannot be read: no such file"},
		{[]string{"replay", j.baseline}, "no JSON report"},
		{[]string{"replay", j.report, "transport.bodies@createNotes"}, `did you mean "transport.bodies@createNote"?`},
		{[]string{"replay", j.report, "transport.routes@createNote"}, "broke nothing in"},
		{[]string{"replay", j.report, id, "--contract", "seer", "--target", j.rep.Target}, "not seer"},
	} {
		if r := assay(t.Context(), tc.args); r.code != exitUsage || !strings.Contains(r.err, tc.says) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
	// No target is needed to say that this claim needs one.
	r = assay(t.Context(), []string{"replay", j.report, "--offline"})
	if r.code != exitNotJudged || !strings.Contains(r.out, "needs a target  transport.code in "+id+"\n") {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
}

// A passive claim is judged again offline, and against a target by the case that sent the exchange.
func TestReplayPassive(t *testing.T) {
	j := judgeBroken(t, passiveMutant, "transport")
	i := slices.IndexFunc(j.rep.Findings, func(f report.Finding) bool { return f.Claim == "wire.media-type" })
	if i < 0 {
		t.Fatalf("%+v", j.rep.Summary)
	}
	id := j.rep.Findings[i].Case
	r := assay(t.Context(), []string{"replay", j.report, id, "--profile", j.profile})
	if r.code != exitViolations || !strings.Contains(r.out, "wire.media-type happened again.\n") {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
	r = assay(t.Context(), []string{"replay", j.report, id, "--offline"})
	if r.code != exitViolations || !strings.Contains(r.out, "broken  wire.media-type on ") {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
	// The same exchanges in order: what is judged is the record, not a verdict that was kept.
	for i := range j.rep.Findings {
		for k := range j.rep.Findings[i].Exchanges {
			fields := j.rep.Findings[i].Exchanges[k].Head.Fields
			for n := range fields {
				fields[n].Value = strings.ReplaceAll(fields[n].Value, "ISO-8859-1", "utf-8")
			}
		}
	}
	b, err := json.Marshal(j.rep)
	if err != nil {
		t.Fatal(err)
	}
	r = assay(t.Context(), []string{"replay", write(t, t.TempDir(), "r.json", string(b)), id, "--offline", "--format", "json"})
	if r.code != exitOK || !json.Valid([]byte(r.out)) || strings.Contains(r.out, `"expected"`) {
		t.Errorf("exit %d %s\n%s", r.code, r.err, r.out)
	}
}
