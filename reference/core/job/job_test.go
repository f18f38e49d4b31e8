package job_test

import (
	"fmt"
	"testing"
	"time"

	"assay.kit/reference/core/job"
	"assay.kit/spec"
)

func machine() *spec.States {
	return &spec.States{
		Resource: "job", Initial: "accepted", Terminal: []string{"completed", "failed", "cancelled"},
		Transitions: map[string][]string{
			"accepted": {"running", "cancelled", "failed"}, "running": {"waiting", "completed", "failed", "cancelled"},
			"waiting": {"running", "cancelled", "failed"}, "completed": {"accepted"},
		},
	}
}

func TestLegal(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"accepted", "running", true}, {"running", "completed", true}, {"waiting", "running", true},
		{"accepted", "completed", false}, {"accepted", "accepted", false}, {"unknown", "running", false},
		{"completed", "accepted", false}, // a terminal state is final, whatever the table says
	} {
		if got := job.Legal(machine(), c.from, c.to); got != c.want {
			t.Errorf("Legal(%s, %s) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
	if job.Legal(nil, "a", "b") || job.Terminal(nil, "a") {
		t.Error("no machine has moves")
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"accepted", "completed", "[running completed] true"}, {"accepted", "failed", "[failed] true"}, {"waiting", "completed", "[running completed] true"},
		{"running", "running", "[] true"}, {"completed", "accepted", "[] false"}, {"accepted", "nowhere", "[] false"},
	} {
		way, ok := job.Path(machine(), c.from, c.to)
		if got := fmt.Sprint(way, " ", ok); got != c.want {
			t.Errorf("Path(%s, %s) = %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

func TestPhases(t *testing.T) {
	if got, want := job.PhasesOf(machine(), "completed"), (job.Phases{Initial: "accepted", Running: "running", Waiting: "waiting"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	short := &spec.States{Initial: "open", Terminal: []string{"done"}, Transitions: map[string][]string{"open": {"done"}}}
	if got, want := job.PhasesOf(short, "done"), (job.Phases{Initial: "open", Running: "open"}); got != want {
		t.Errorf("a machine of two states: got %+v, want %+v", got, want)
	}
}

func TestDelay(t *testing.T) {
	seen := map[time.Duration]bool{}
	for i := range 100 {
		d := job.Delay(fmt.Sprint("job", i))
		if d < 15*time.Millisecond || d > 40*time.Millisecond {
			t.Fatalf("Delay = %s", d)
		}
		seen[d] = true
	}
	if len(seen) < 10 {
		t.Errorf("only %d different delays in 100 jobs", len(seen))
	}
}

func TestCancelTo(t *testing.T) {
	for state, want := range map[string]string{"accepted": "cancelled true", "waiting": "cancelled true", "completed": "completed false", "cancelled": "cancelled false"} {
		to, move := job.CancelTo(machine(), "cancelled", state)
		if got := fmt.Sprint(to, " ", move); got != want {
			t.Errorf("from %s: %s, want %s", state, got, want)
		}
	}
}

func TestView(t *testing.T) {
	j := &spec.Job{Result: "/out/ref", Error: "/error", Success: "completed", Failure: "failed"}
	for state, want := range map[string]string{
		"running":   "map[out:map[]]",
		"completed": "map[out:map[ref:r]]",
		"failed":    "map[error:e out:map[]]",
		"cancelled": "map[out:map[]]",
	} {
		body := map[string]any{"out": map[string]any{"ref": "r"}, "error": "e"}
		if got := fmt.Sprint(job.View(j, state, body)); got != want {
			t.Errorf("%s shows %s, want %s", state, got, want)
		}
	}
	if got := fmt.Sprint(job.View(j, "running", map[string]any{"out": "text"})); got != "map[out:text]" {
		t.Errorf("a pointer through text: %s", got)
	}
}
