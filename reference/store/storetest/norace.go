//go:build !race

package storetest

// heavy is how many writes the concurrent parts make.
const heavy = 2048
