package target

import (
	"fmt"
	"strings"
)

// unknown is the error for a word that is not in a closed list, with the nearest one if it is near.
func unknown(what, word string, known []string) error {
	if s := nearest(word, known); s != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, word, s)
	}
	return fmt.Errorf("unknown %s %q; known: %s", what, word, strings.Join(known, ", "))
}

// nearest returns the known word within a third of the length in edits, "" if none is.
func nearest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, at := "", len(word)/3+1
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d <= at && (best == "" || d < at) {
			best, at = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
