// Package assay is the module's root; it holds the tests of the module as a whole. Start reading at
// conformance (judge a server), spec (what a contract is) or cmd/assay (the binary).
package assay
