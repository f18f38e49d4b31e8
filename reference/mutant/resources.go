package mutant

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// kept are servers that keep something else than what they were sent.
func kept() []Mutant {
	return []Mutant{
		{
			ID: "resource-text-folded", Does: "Keeps the text of a note in small letters.", Contract: "notes",
			Breaks: []string{"resources.echo"},
			Wrap: noteBodies(func(note map[string]any) {
				if s, ok := note["text"].(string); ok {
					note["text"] = strings.ToLower(s)
				}
			}),
		},
		{
			ID: "resource-tags-as-set", Does: "Keeps the tags of a note as a set, in an order of its own.", Contract: "notes",
			Breaks: []string{"resources.echo"},
			Wrap: noteBodies(func(note map[string]any) {
				if tags, ok := note["tags"].([]any); ok {
					slices.SortFunc(tags, func(a, b any) int { return strings.Compare(string(encode(a)), string(encode(b))) })
					note["tags"] = slices.Compact(tags)
				}
			}),
		},
	}
}

// noteBodies changes the notes that are to be written, before the server sees them.
func noteBodies(change func(note map[string]any)) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if is(r, "POST", "/notebooks/*/notes") {
			if note := decoded(bodyOf(r)); note != nil {
				change(note)
				b := encode(note)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			}
		}
		next.ServeHTTP(w, r)
	})
}
