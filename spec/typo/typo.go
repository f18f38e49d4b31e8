// Package typo finds the word that somebody probably meant, for errors that say what to do.
package typo

import "strings"

const longest = 64 // a longer word is no slip of the finger

// Nearest returns the known word within a third of the length of word in edits, "" if none is.
// Case does not count; of equally near words the first wins.
func Nearest(word string, known []string) string {
	if len(word) > longest {
		return ""
	}
	best, limit := "", len(word)/3+2
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); len(k) <= longest && d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements of bytes between two words (Levenshtein).
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
			diagonal, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
