//go:build race

package hostile

import "time"

// raceEnabled: the race detector takes memory of its own, many times the program's.
const raceEnabled = true

const (
	budget = 5 * time.Second  // of a run
	grace  = 15 * time.Second // to stop, and for a busy machine
)
