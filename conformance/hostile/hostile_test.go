// Package hostile runs the whole kit against servers that try to hang it, to fill its memory, to
// have it send its token elsewhere, or to get something into its report that a reader would obey.
package hostile

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.kit/conformance"
	"assay.kit/conformance/check"
	"assay.kit/conformance/report"
	"assay.kit/conformance/target"
	"assay.kit/spec"
	"assay.kit/spec/contracts"
)

const (
	longer    = 10 * time.Second // of a second try, alone: on a busy machine a short run sees little
	maxMemory = 512 << 20
	atOnce    = 12
	wanted    = "ASSAY_HOSTILE_ROW"  // tells a process of this test which row to run
	allowed   = "ASSAY_HOSTILE_TIME" // and its time budget
	late      = " (late)"
)

// TestMain lets the test binary be the process that runs one row: its memory, goroutines and panics
// are then its own.
func TestMain(m *testing.M) {
	if name := os.Getenv(wanted); name != "" {
		out, err := runRow(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		_ = json.NewEncoder(os.Stdout).Encode(out)
		return
	}
	os.Exit(m.Run())
}

// seen is what one run came to.
type seen struct {
	Verdict report.Overall `json:"verdict"`
	Error   string         `json:"error"`
	Console string         `json:"console"`
	Size    int            `json:"size"`    // of the JSON report, in bytes
	Unclean []string       `json:"unclean"` // what must not be in an output
	Seconds float64        `json:"seconds"`
	Sent    int            `json:"sent"`
	Visits  int64          `json:"visits"` // to another origin
	Left    string         `json:"left"`   // stacks of goroutines that did not end
}

// TestHostile: every run ends in time, in bounds, and says what it saw.
func TestHostile(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// Not t.Parallel, which runs as many as there are processors: most rows wait most of the time.
	room := make(chan struct{}, atOnce)
	type run struct {
		row
		name string
		done <-chan process
	}
	var runs []run
	for _, r := range rows() {
		names := []string{r.name, r.name + late}
		if r.once || raceEnabled { // which makes it all slow, and shows nothing new the second time
			names = names[:1]
		}
		for _, name := range names {
			done := make(chan process, 1)
			runs = append(runs, run{r, name, done})
			go func() {
				room <- struct{}{}
				defer func() { <-room }()
				done <- start(ctx, name, budget)
			}()
		}
	}
	var again []run
	for _, r := range runs {
		p := <-r.done
		wrong := faults(r.row, r.name, p, budget)
		if len(wrong) > 0 && p.mayBeLoad() {
			again = append(again, r)
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Log(p.note)
			for _, f := range wrong {
				t.Error(f)
			}
		})
	}
	for _, r := range again {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range faults(r.row, r.name, start(ctx, r.name, longer), longer) {
				t.Error(f)
			}
		})
	}
}

// process is what a process that ran one row came to.
type process struct {
	seen  seen
	note  string
	err   []byte
	fault error
	peak  int64 // bytes of memory
}

// mayBeLoad reports whether a fault may come of a busy machine: a leak, a crash or a visit does not.
func (p process) mayBeLoad() bool {
	return p.fault == nil && p.seen.Visits == 0 && p.seen.Left == "" && len(p.seen.Unclean) == 0 && p.peak <= maxMemory
}

func start(ctx context.Context, name string, limit time.Duration) process {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), wanted+"="+name, allowed+"="+limit.String())
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	p := process{fault: cmd.Run()}
	p.err = stderr.Bytes()
	if p.fault == nil {
		p.peak = peakOf(cmd.ProcessState.SysUsage().(*syscall.Rusage))
		p.fault = json.Unmarshal(stdout.Bytes(), &p.seen)
	}
	got := p.seen
	p.note = fmt.Sprintf("%s%.80s: %.1f s, %d requests, %d MiB, %d KiB of report", got.Verdict, got.Error, got.Seconds, got.Sent, p.peak>>20, got.Size>>10)
	return p
}

// faults says what is wrong with a run.
func faults(r row, name string, p process, limit time.Duration) (out []string) {
	bad := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	got := p.seen
	if p.fault != nil {
		bad("%v\n%.4000s", p.fault, p.err)
		return out
	}
	says := r.says
	if strings.HasSuffix(name, late) && r.lateSays != "" {
		says = r.lateSays
	}
	text := got.Error + got.Console
	if !regexp.MustCompile(`(?s)` + says).MatchString(text) {
		bad("the report does not say %q: %.6000s", says, text)
	}
	if got.Error == "" && got.Verdict != report.Violations && got.Verdict != report.Undecided {
		bad("verdict %s: %.3000s", got.Verdict, got.Console)
	}
	if most := (limit + grace).Seconds(); got.Seconds > most {
		bad("took %.1f s of %.1f s", got.Seconds, most)
	}
	if !raceEnabled && p.peak > maxMemory {
		bad("%d MiB of memory", p.peak>>20)
	}
	if got.Visits > 0 {
		bad("%d connections to another origin", got.Visits)
	}
	if got.Left != "" {
		bad("goroutines are left: %.3000s", got.Left)
	}
	return append(out, got.Unclean...)
}

// peakOf is the largest resident size in bytes; Darwin counts in bytes, others in KiB.
func peakOf(u *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss << 10
}

// runRow runs one row in this process.
func runRow(name string) (*seen, error) {
	for _, r := range rows() {
		if r.name == name || r.name+late == name {
			return r.run(strings.HasSuffix(name, late))
		}
	}
	return nil, fmt.Errorf("no row %q", name)
}

func (r row) run(late bool) (*seen, error) {
	name := r.contract
	if name == "" {
		name = "notes"
	}
	files, err := contracts.Named(name)
	if err != nil {
		return nil, err
	}
	c, err := spec.Load(files, name)
	if err != nil {
		return nil, err
	}
	began := runtime.NumGoroutine()
	s := newSite(&testing.T{})
	if late {
		s.good = 60
	}
	base := r.start(s)
	p := &target.Profile{BaseURL: base, Credentials: map[string]target.Credential{string(target.Primary): {Bearer: target.NewSecret(token)}}}
	if p.Budget.Time, err = time.ParseDuration(os.Getenv(allowed)); err != nil {
		return nil, err
	}
	o := conformance.Options{Contract: c, Profile: p, Seed: 7, Effort: check.Quick}
	if r.only != "" {
		o.Only = []string{r.only}
	}
	start := time.Now()
	rep, err := conformance.Run(context.Background(), o)
	out := &seen{Seconds: time.Since(start).Seconds()}
	if err != nil {
		if !errors.Is(err, conformance.ErrUnreachable) {
			return nil, err
		}
		out.Error = err.Error()
	} else {
		var console, whole bytes.Buffer
		if err := errors.Join(report.Console{}.Write(&console, rep), rep.WriteJSON(&whole)); err != nil {
			return nil, err
		}
		out.Verdict, out.Sent, out.Size = rep.Verdict, rep.Summary.Requests, whole.Len()
		out.Unclean = append(unclean("console", console.String()), unclean("JSON report", whole.String())...)
		out.Console = strings.Join(rep.Warnings, "\n") + "\n" + console.String()
		for _, cs := range rep.Cases {
			if cs.Verdict == report.Inconclusive {
				out.Console += cs.ID + ": " + cs.Note + "\n"
			}
		}
		out.Console = out.Console[:min(len(out.Console), 1<<20)]
	}
	out.Unclean = append(out.Unclean, unclean("error", out.Error)...)
	s.close()
	out.Visits, out.Left = s.visits.Load(), leftOver(began)
	return out, nil
}

// unclean looks for what a terminal would obey, and for the token.
func unclean(place, s string) (out []string) {
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' }); i >= 0 {
		out = append(out, fmt.Sprintf("a control character in the %s: %q", place, s[max(0, i-60):min(len(s), i+60)]))
	}
	if i := strings.Index(s, token); i >= 0 {
		out = append(out, fmt.Sprintf("the token in the %s: %q", place, s[max(0, i-200):i+30]))
	}
	return out
}

// leftOver waits for goroutines to end, and gives the stacks of those that do not.
func leftOver(began int) string {
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if runtime.NumGoroutine() <= began {
			return ""
		}
	}
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	return b.String()
}

// certificate is a self-signed one for loopback.
func certificate(t testing.TB, until time.Time) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-24 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
