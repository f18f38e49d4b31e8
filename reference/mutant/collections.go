package mutant

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay.kit/reference/core"
	"assay.kit/reference/core/cursor"
	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// collections are servers whose lists lose, repeat or invent items, or whose cursors promise too much.
func collections() []Mutant { return slices.Concat(pages(), walks(), filters(), cursors()) }

func pages() []Mutant {
	return []Mutant{
		{
			ID: "page-one-more", Does: "Returns the item by which it knows that there is a next page.", Contract: "seer",
			Breaks: []string{"collections.page-size", "collections.default-size", "wire.schema"}, // the schema has a greatest page too
			Replace: func(r *core.Rules) {
				r.Page = func(found []core.Resource, limit int) ([]core.Resource, *core.Resource) {
					if len(found) <= limit {
						return found, nil
					}
					return found, &found[limit]
				}
			},
		},
		{
			ID: "page-max-exclusive", Does: "Refuses the greatest page size.", Contract: "notes",
			Breaks: []string{"collections.limit-accepted"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw != nil && *raw == strconv.Itoa(l.Max) {
					return 0, false
				}
				return core.PageSize(l, raw)
			}),
		},
		{
			ID: "page-zero-is-default", Does: "Takes a page size of zero for none.", Contract: "seer",
			Breaks: []string{"collections.limit-rejected"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw != nil && *raw == "0" {
					raw = nil
				}
				return core.PageSize(l, raw)
			}),
		},
		{
			ID: "page-clamps", Does: "Takes a page size out of its bounds for the nearest bound where the contract refuses it.", Contract: "seer",
			Breaks: []string{"collections.limit-rejected"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				own := *l
				own.OutOfRange = "clamp"
				return core.PageSize(&own, raw)
			}),
		},
		{
			ID: "page-garbage-is-default", Does: "Takes a page size that is no number for none.", Contract: "seer",
			Breaks: []string{"collections.limit-rejected"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw != nil {
					if _, err := strconv.Atoi(*raw); err != nil {
						raw = nil
					}
				}
				return core.PageSize(l, raw)
			}),
		},
		{
			ID: "page-refuses", Does: "Refuses a page size out of its bounds where the contract takes the nearest bound.", Contract: "notes",
			Breaks: []string{"collections.limit-clamped"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				own := *l
				own.OutOfRange = "reject"
				return core.PageSize(&own, raw)
			}),
		},
		{
			ID: "page-low-is-default", Does: "Takes a page size below the least for none.", Contract: "notes",
			Breaks: []string{"collections.limit-clamped"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if n, ok := core.PageSize(l, raw); raw == nil || n != l.Min || *raw == strconv.Itoa(l.Min) {
					return n, ok
				}
				return l.Default, true
			}),
		},
		{
			ID: "page-text-is-default", Does: "Takes a page size that is no number for none, where one out of bounds is taken for the nearest bound.", Contract: "notes",
			Breaks: []string{"collections.limit-type", "validation.parameter"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw != nil {
					if _, err := strconv.Atoi(*raw); err != nil {
						return l.Default, true
					}
				}
				return core.PageSize(l, raw)
			}),
		},
		{
			ID: "page-default-is-max", Does: "Gives the greatest page where no size was asked for.", Contract: "notes",
			Breaks: []string{"collections.default-size"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw == nil {
					return l.Max, true
				}
				return core.PageSize(l, raw)
			}),
		},
		{
			ID: "page-end-empty", Does: "Marks the last page by an empty text where the contract says null.", Contract: "seer",
			Breaks:  []string{"collections.end-marker", "collections.envelope", "wire.schema"},
			Replace: ends(func(t *spec.Collection, page map[string]any) { page[t.Next.Tokens()[0]] = "" }),
		},
		{
			ID: "page-end-null", Does: "Marks the last page by null where the contract leaves the member out.", Contract: "notes",
			Breaks:  []string{"collections.end-marker", "collections.envelope", "wire.schema"},
			Replace: ends(func(t *spec.Collection, page map[string]any) { page[t.Next.Tokens()[0]] = nil }),
		},
		{
			ID: "page-empty-null", Does: "Writes an empty page as null.", Contract: "seer",
			Breaks: []string{"wire.schema", "collections.envelope"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				a.body = bytes.Replace(a.body, []byte(`"items":[]`), []byte(`"items":null`), 1)
			}),
		},
		{
			ID: "page-without-ids", Does: "Leaves the id out of the accounts that it lists.", Contract: "seer",
			Breaks:  []string{"collections.ids", "wire.schema", "collections.envelope"},
			Replace: representing("listAccounts", func(body map[string]any) { delete(body, "account_id") }),
		},
	}
}

func size(f func(l *spec.PageLimit, raw *string) (int, bool)) func(*core.Rules) {
	return func(r *core.Rules) { r.PageSize = f }
}

func ends(f func(t *spec.Collection, page map[string]any)) func(*core.Rules) {
	return func(r *core.Rules) { r.End = f }
}

// representing changes how one operation shows a resource.
func representing(op string, change func(body map[string]any)) func(*core.Rules) {
	return func(r *core.Rules) {
		r.Represent = func(o *spec.Operation, res core.Resource) json.RawMessage {
			body := decoded(res.Body)
			if o.ID != op || body == nil {
				return res.Body
			}
			change(body)
			return encode(body)
		}
	}
}

func walks() []Mutant {
	return []Mutant{
		{
			ID: "walk-repeats-edge", Does: "Begins a page with the last item of the page before.", Contract: "seer",
			Breaks: []string{"collections.once", "collections.limit-change", "collections.hidden-on"},
			Replace: func(r *core.Rules) {
				r.Page = func(found []core.Resource, limit int) ([]core.Resource, *core.Resource) {
					if len(found) <= limit || limit < 2 {
						return core.Page(found, limit)
					}
					return found[:limit], &found[limit-2]
				}
			},
		},
		{
			ID: "walk-skips-edge", Does: "Goes on behind the item by which it knew that there is a next page.", Contract: "notes",
			Breaks: []string{
				"collections.complete", "collections.steady", "collections.new-walk", "collections.limit-change", "collections.filter-complete",
				"collections.hidden-on",
			},
			Replace: func(r *core.Rules) {
				r.Page = func(found []core.Resource, limit int) ([]core.Resource, *core.Resource) {
					if len(found) <= limit {
						return found, nil
					}
					return found[:limit], &found[limit]
				}
			},
		},
		{
			ID: "walk-shows-later", Does: "Shows what was added after the first page.", Contract: "seer",
			Breaks:  []string{"collections.snapshot"},
			Replace: func(r *core.Rules) { r.Watermark = func(_ *cursor.Content, current int64) int64 { return current } },
		},
		{
			ID: "walk-forgets-late", Does: "Forgets after the sixth page what the first one was bound to.", Contract: "seer",
			Breaks: []string{"collections.snapshot"},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				pages := map[cursor.Content]int{}
				r.Watermark = func(c *cursor.Content, current int64) int64 {
					if c == nil {
						return current
					}
					walk := cursor.Content{Watermark: c.Watermark, Filters: c.Filters, Order: c.Order}
					mu.Lock()
					defer mu.Unlock()
					if pages[walk]++; pages[walk] > 5 {
						return current
					}
					return c.Watermark
				}
			},
		},
		{
			ID: "walk-stale", Does: "Begins walks on a replica that is a fraction of a second behind.", Contract: "seer",
			Breaks: []string{
				"collections.filter-bound",
				"collections.new-walk", "collections.complete", "collections.steady", "collections.limit-change", "collections.filter-complete",
				"collections.filter-unchanged",
			},
			Replace: func(r *core.Rules) {
				var mu sync.Mutex
				var seen int64
				var at time.Time
				r.Watermark = func(c *cursor.Content, current int64) int64 {
					mu.Lock()
					defer mu.Unlock()
					if time.Since(at) > 150*time.Millisecond {
						seen, at = current, time.Now()
					}
					if c != nil {
						return c.Watermark
					}
					return seen
				}
			},
		},
		{
			ID: "walk-shows-hidden", Does: "Goes on showing an item that may no longer be seen.", Contract: "seer",
			Breaks:  []string{"collections.hidden"},
			Replace: func(r *core.Rules) { r.Hides = func(core.Principal, core.Resource, bool) bool { return false } },
		},
		{
			ID: "walk-one-order", Does: "Accepts the order parameter and lists newest first all the same.", Contract: "seer",
			Breaks:  []string{"collections.order"},
			Replace: func(r *core.Rules) { r.Descending = func(*spec.OrderValue) bool { return true } },
		},
		{
			ID: "walk-never-ends", Does: "Gives the last page the cursor that led to it.", Contract: "seer",
			Breaks: []string{"collections.ends"},
			Wrap: edit(func(r *http.Request, a *answer) {
				c := r.URL.Query().Get("cursor")
				body := a.object()
				if next, there := body["next_cursor"]; there && next == nil && c != "" && a.status == http.StatusOK {
					body["next_cursor"] = c
					a.set(body)
				}
			}),
		},
		{
			ID: "walk-by-offset", Does: "Pages the revisions of an agent by an encoded offset.", Contract: "seer",
			Breaks: []string{
				"collections.once", "collections.order", "collections.snapshot", "collections.mismatch-refused", "collections.filters-bound",
				"collections.principal-bound", "collections.client-bound", "collections.tamper", "collections.expired", "collections.hidden-on",
			},
			Wrap: byOffset,
		},
		{
			ID: "walk-loses-jobs", Does: "Lists jobs only as long as they are active.", Contract: "seer",
			Breaks: []string{
				"jobs.listed", "collections.complete", "collections.steady", "collections.new-walk", "collections.limit-change",
				"collections.filter-complete", "collections.filter-unchanged", "collections.filter-bound",
			},
			Wrap: onlyAt("GET", "/v1/jobs", func(a *answer) {
				body := a.object()
				active := []any{}
				for _, it := range items(body) {
					if s := text(it, "state"); s != "completed" && s != "failed" && s != "cancelled" {
						active = append(active, it)
					}
				}
				body["items"] = active
				a.set(body)
			}),
		},
	}
}

// byOffset lists one collection anew for each page and cuts the page out of it.
func byOffset(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		size, err := strconv.Atoi(q.Get("limit"))
		if q.Get("limit") == "" {
			size, err = 20, nil
		}
		plain, bad := base64.RawURLEncoding.DecodeString(q.Get("cursor"))
		offset, _ := strconv.Atoi(strings.TrimPrefix(string(plain), "offset="))
		if !is(r, "GET", "/v1/agents/*/revisions") || err != nil || size < 1 || size > 100 || bad != nil || offset == 0 && len(plain) > 0 {
			next.ServeHTTP(w, r)
			return
		}
		q.Del("cursor")
		q.Set("limit", "100")
		first := also(next, r, "GET", r.URL.Path+"?"+q.Encode(), "")
		body := first.object()
		list, ok := body["items"].([]any)
		if !ok {
			first.send(w)
			return
		}
		from := min(max(0, offset), len(list))
		to := min(from+size, len(list))
		body["items"] = list[from:to]
		if to < len(list) || body["next_cursor"] != nil {
			body["next_cursor"] = base64.RawURLEncoding.EncodeToString([]byte("offset=" + strconv.Itoa(to)))
		}
		first.set(body)
		first.send(w)
	})
}

func filters() []Mutant {
	return []Mutant{
		{
			ID: "filter-prefix", Does: "Takes a filter on a text for the beginning of it.", Contract: "notes",
			Breaks: []string{"collections.filter-match", "collections.filter-complete"},
			Replace: match(func(f spec.Filter, value string, item any) bool {
				v, _ := tree.Get(item, f.Member)
				s, ok := v.(string)
				return core.Match(f, value, item) || ok && f.Match == "equal" && strings.HasPrefix(s, value)
			}),
		},
		{
			ID: "filter-no-booleans", Does: "Compares a filter with texts only, so one on true or false finds nothing.", Contract: "notes",
			Breaks: []string{"collections.filter-complete"},
			Replace: match(func(f spec.Filter, value string, item any) bool {
				v, _ := tree.Get(item, f.Member)
				_, ok := v.(string)
				return ok && core.Match(f, value, item)
			}),
		},
		{
			ID: "filter-absent-is-false", Does: "Takes a member that an item lacks for false when it filters.", Contract: "notes",
			Breaks: []string{"collections.filter-complete"},
			Replace: match(func(f spec.Filter, value string, item any) bool {
				v, there := tree.Get(item, f.Member)
				return core.Match(f, value, item) || f.Match == "equal" && (!there || v == nil) && value == "false"
			}),
		},
		{
			ID: "filter-one-at-a-time", Does: "Drops the lower bound of time where another filter is asked for too.", Contract: "notes",
			Breaks: []string{"collections.filter-complete", "collections.filter-match"},
			Wrap:   oneFilter,
		},
		{
			ID: "filter-one-ignored", Does: "Accepts the filter on the kind of a job and does not apply it.", Contract: "seer",
			Breaks: []string{"collections.filter-match", "collections.filter-complete", "collections.filter-unchanged"},
			Replace: match(func(f spec.Filter, value string, item any) bool {
				return f.Param == "kind" || core.Match(f, value, item)
			}),
		},
		{
			ID: "filter-first-state", Does: "Filters by the state that a resource began in.", Contract: "seer",
			Breaks: []string{"collections.filter-unchanged"},
			Replace: match(func(f spec.Filter, value string, item any) bool {
				if f.Mutable {
					return value == "accepted" || value == "proposed"
				}
				return core.Match(f, value, item)
			}),
		},
		{
			ID: "filter-after-ignored", Does: "Accepts a lower bound of time and does not apply it.", Contract: "notes",
			Breaks: []string{"collections.filter-match", "collections.filter-complete", "collections.filter-bound"},
			Replace: func(r *core.Rules) {
				r.CreatedAfter = func(spec.Filter, string) time.Time { return time.Time{} }
				r.Match = func(f spec.Filter, value string, item any) bool {
					return f.Match == "after" || core.Match(f, value, item)
				}
			},
		},
		{
			ID: "filter-after-the-page", Does: "Filters pinned notes out of pages that were cut before, and ends where a page is left empty.", Contract: "notes",
			Breaks: []string{"collections.filter-complete"},
			Wrap:   filteredLate,
		},
	}
}

func match(f func(f spec.Filter, value string, item any) bool) func(*core.Rules) {
	return func(r *core.Rules) { r.Match = f }
}

// oneFilter drops the bound of time from a request with a filter on what is pinned.
func oneFilter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); is(r, "GET", "/notebooks/*/notes") && q.Has("pinned") && q.Has("since") {
			q.Del("since")
			r.URL.RawQuery = q.Encode()
		}
		next.ServeHTTP(w, r)
	})
}

// filteredLate asks for notes without the filter and applies it to the page.
func filteredLate(next http.Handler) http.Handler {
	late := wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		want, filtered := q.Get("pinned"), q.Has("pinned")
		if !is(r, "GET", "/notebooks/*/notes") || !filtered || want != "true" && want != "false" {
			next.ServeHTTP(w, r)
			return
		}
		q.Del("pinned")
		r.URL.RawQuery = q.Encode()
		a := ask(next, r)
		body := a.object()
		list, ok := body["notes"].([]any)
		if ok {
			list = slices.DeleteFunc(list, func(it any) bool {
				pinned, there := tree.Get(it, "/pinned")
				return !there || fmt.Sprint(pinned) != want
			})
			if body["notes"] = list; len(list) == 0 {
				delete(body, "next")
			}
			a.set(body)
		}
		a.send(w)
	})
	return bound("after", "next", func(q url.Values) string { return q.Get("pinned") })(late(next))
}
