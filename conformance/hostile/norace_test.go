//go:build !race

package hostile

import "time"

// raceEnabled tells that memory can be judged here.
const raceEnabled = false

const (
	budget = 2 * time.Second // of a run
	grace  = 3 * time.Second // to stop, and for a busy machine
)
