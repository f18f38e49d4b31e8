package target

import (
	"fmt"
	"strings"

	"assay.kit/spec/typo"
)

// unknown is the error for a word that is not in a closed list, with the nearest one if it is near.
func unknown(what, word string, known []string) error {
	if s := typo.Nearest(word, known); s != "" {
		return fmt.Errorf("unknown %s %q; did you mean %q?", what, word, s)
	}
	return fmt.Errorf("unknown %s %q; known: %s", what, word, strings.Join(known, ", "))
}
