//go:build !linux

package main

import "testing"

// inEmptyRoot has nothing to run: the image's binary is for Linux.
func inEmptyRoot(*testing.T, string) {}
