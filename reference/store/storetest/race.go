//go:build race

package storetest

// heavy is how many writes the concurrent parts make; SQLite in Go is many times slower under the
// race detector.
const heavy = 160
