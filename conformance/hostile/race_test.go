//go:build race

package hostile

// raceEnabled: the race detector takes memory of its own, many times the program's.
const raceEnabled = true
