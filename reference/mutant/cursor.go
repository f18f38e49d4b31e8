package mutant

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/cursor"
)

func cursors() []Mutant {
	return []Mutant{
		{
			ID: "cursor-any-filter", Does: "Follows a cursor under whatever filter the request has.", Contract: "seer",
			Breaks: []string{"collections.mismatch-refused", "collections.filters-bound"},
			Replace: func(r *core.Rules) {
				r.CursorBinds = func(c cursor.Content, _ [16]byte, order string) bool { return c.Order == order }
			},
		},
		{
			ID: "cursor-any-order", Does: "Follows a cursor in whatever order the request has.", Contract: "seer",
			Breaks: []string{"collections.mismatch-refused", "collections.filters-bound"},
			Replace: func(r *core.Rules) {
				r.CursorBinds = func(c cursor.Content, filters [16]byte, _ string) bool { return c.Filters == filters }
			},
		},
		{
			ID: "cursor-any-principal", Does: "Follows a cursor for whoever has it.", Contract: "seer",
			Breaks:  []string{"collections.principal-bound", "collections.client-bound"},
			Replace: func(r *core.Rules) { r.CursorScope = func(op string, _ core.Principal) []byte { return []byte(op) } },
		},
		{
			ID: "cursor-any-client", Does: "Ties a cursor to the workspace and not to the client.", Contract: "seer",
			Breaks: []string{"collections.client-bound"},
			Replace: func(r *core.Rules) {
				r.CursorScope = func(op string, p core.Principal) []byte { return cursor.Scope(op, p.Workspace, "") }
			},
		},
		{
			ID: "cursor-unsigned", Does: "Writes its cursors in plain base64 and obeys what comes back.", Contract: "seer",
			Breaks: []string{"collections.tamper", "collections.cursor-refusal"},
			Replace: func(r *core.Rules) {
				r.Seal = func(_ cursor.Keys, scope, plain []byte) (string, error) {
					return base64.RawURLEncoding.EncodeToString(slices.Concat(tie(scope), plain)), nil
				}
				r.Open = func(_ cursor.Keys, scope []byte, s string) ([]byte, error) {
					b, err := base64.RawURLEncoding.DecodeString(s)
					plain, ok := bytes.CutPrefix(b, tie(scope))
					if err != nil || !ok {
						return nil, cursor.ErrInvalid
					}
					return plain, nil
				}
			},
		},
		{
			ID: "cursor-garbage-restarts", Does: "Begins anew where it cannot read the cursor.", Contract: "seer",
			Breaks: []string{"collections.tamper"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				if _, err := base64.RawURLEncoding.DecodeString(q.Get("cursor")); err != nil {
					q.Del("cursor")
					r.URL.RawQuery = q.Encode()
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "cursor-invalid-404", Does: "Answers a cursor that it cannot read with 404.", Contract: "seer",
			Breaks: []string{"collections.cursor-refusal", "collections.mismatch-refused", "wire.status"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if a.text("code") == "CURSOR_INVALID" {
					a = problem(http.StatusNotFound, "NOT_FOUND")
				}
				a.send(w)
			}),
		},
		{
			ID: "cursor-expired-400", Does: "Answers an expired cursor like one that never was.", Contract: "seer",
			Breaks: []string{"collections.expired"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if a.status == http.StatusGone {
					a = problem(http.StatusBadRequest, "CURSOR_INVALID")
				}
				a.send(w)
			}),
		},
		{
			ID: "cursor-eternal", Does: "Follows cursors for ever.", Contract: "notes",
			Breaks:  []string{"collections.expired"},
			Replace: func(r *core.Rules) { r.CursorExpired = func(cursor.Content, time.Time) bool { return false } },
		},
		{
			ID: "cursor-short-lived", Does: "Lets cursors expire long before their time.", Contract: "seer",
			Breaks: []string{"collections.expired"},
			Replace: func(r *core.Rules) {
				r.CursorExpired = func(c cursor.Content, now time.Time) bool { return cursor.Expired(c, now.Add(10*time.Minute)) }
			},
		},
		{
			ID: "cursor-once", Does: "Accepts each cursor once.", Contract: "seer",
			Breaks: []string{"collections.repeat", "collections.expired"},
			May: []May{
				{"collections.principal-bound", "it is shown there that the cursor still serves its owner, by following it again"},
				{"collections.client-bound", "likewise"},
				{"collections.hidden-on", "the walk is followed from one cursor before an item is hidden and after"},
			},
			Replace: func(r *core.Rules) {
				var used sync.Map
				r.Open = func(k cursor.Keys, scope []byte, s string) ([]byte, error) {
					plain, err := cursor.Open(k, scope, s)
					if err == nil {
						if _, again := used.LoadOrStore(s, true); again {
							return nil, cursor.ErrInvalid
						}
					}
					return plain, err
				}
			},
		},
		{
			ID: "cursor-bound-to-size", Does: "Ties a cursor to the page size.", Contract: "seer",
			Breaks: []string{"collections.limit-change"},
			Wrap:   bound("cursor", "next_cursor", func(q url.Values) string { return q.Get("limit") }),
		},
		{
			ID: "cursor-decoded-twice", Does: "Writes cursors with plus signs and decodes the query twice.", Contract: "seer",
			Breaks: []string{"collections.encoding"},
			May:    anyWalk("a cursor with a plus sign breaks off any walk"),
			Replace: func(r *core.Rules) {
				r.Seal = func(k cursor.Keys, scope, plain []byte) (string, error) {
					s, err := cursor.Seal(k, scope, plain)
					b, _ := base64.RawURLEncoding.DecodeString(s)
					return base64.StdEncoding.EncodeToString(b), err
				}
				r.Open = func(k cursor.Keys, scope []byte, s string) ([]byte, error) {
					twice, err := url.QueryUnescape(s)
					if err != nil {
						return nil, cursor.ErrInvalid
					}
					b, err := base64.StdEncoding.DecodeString(twice)
					if err != nil {
						return nil, cursor.ErrInvalid
					}
					return cursor.Open(k, scope, base64.RawURLEncoding.EncodeToString(b))
				}
			},
		},
	}
}

// tie is what an unsigned cursor knows of where it belongs.
func tie(scope []byte) []byte {
	sum := sha256.Sum256(scope)
	return sum[:8]
}

// bound ties the cursors of all lists to more of the query than the wrapped server does.
func bound(param, member string, of func(q url.Values) string) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		sum := sha256.Sum256([]byte(of(q)))
		tail := hex.EncodeToString(sum[:4])
		if c := q.Get(param); c != "" {
			own, ok := strings.CutSuffix(c, tail)
			if !ok {
				own = "another"
			}
			q.Set(param, own)
			r.URL.RawQuery = q.Encode()
		}
		a := ask(next, r)
		body := a.object()
		if c, ok := body[member].(string); ok && a.status == http.StatusOK && r.Method == http.MethodGet {
			body[member] = c + tail
			a.set(body)
		}
		a.send(w)
	})
}

// anyWalk are the claims that a walk breaks which ends too early, whatever it was there to show, but
// for those that the mutant is about.
func anyWalk(because string, breaks ...string) []May {
	var out []May
	for _, c := range []string{"complete", "filter-complete", "filter-unchanged", "hidden-on", "limit-change", "new-walk", "snapshot", "steady"} {
		if id := "collections." + c; !slices.Contains(breaks, id) {
			out = append(out, May{id, because})
		}
	}
	return out
}
