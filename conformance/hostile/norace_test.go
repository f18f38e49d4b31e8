//go:build !race

package hostile

// raceEnabled tells that memory can be judged here.
const raceEnabled = false
