package spec

import "assay.kit/spec/typo"

// Nearest returns the known word that a slip of the hand most likely meant, upper and lower case
// alike, the first of equals; "" if none is near.
func Nearest(word string, known []string) string { return typo.Nearest(word, known) }
