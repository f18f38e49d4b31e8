package mutant

import (
	"encoding/json"
	"errors"
	"html"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"assay.kit/reference/core"
	"assay.kit/reference/core/idem"
	"assay.kit/spec"
)

// spellings are servers that take two things for one because they are written alike, or one for two
// because it can be written in two ways: texts, names, numbers, instants.
func spellings() []Mutant { return slices.Concat(comparedTexts(), keptTexts(), names(), instants()) }

// texts rewrites every text of a payload before it is compared.
func texts(change func(string) string) func(*core.Rules) {
	return condensed(func(_ *core.Request, v any) any {
		return rewritten(v, 0, func(v any, _ int) any {
			if s, ok := v.(string); ok {
				return change(s)
			}
			return v
		})
	})
}

func comparedTexts() []Mutant {
	return []Mutant{
		{
			ID: "fingerprint-case-folded", Does: "Compares texts without regard to letter case, as its database does.", Contract: "notes",
			Breaks: []string{"idempotency.change"}, Replace: texts(strings.ToLower),
		},
		{
			ID: "fingerprint-trimmed", Does: "Compares texts without the space around them.", Contract: "seer",
			Breaks: []string{"idempotency.change"}, Replace: texts(strings.TrimSpace),
		},
		{
			ID: "fingerprint-composed", Does: "Takes a letter with an accent and the same letter in two characters for one text.", Contract: "notes",
			Breaks: []string{"idempotency.change-form"}, Replace: texts(norm.NFC.String),
		},
		{
			ID: "json-surrogates-apart", Does: "Reads the two escapes of one character as two characters that there are not.", Contract: "notes",
			Breaks: []string{"idempotency.spelling"},
			Replace: decoding(func(b []byte) []byte {
				return regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`).ReplaceAll(b, []byte(`\ufffd\ufffd`))
			}),
		},
		{
			ID: "idempotency-key-comma", Does: "Takes a key with a comma for two fields folded into one, and keeps the first.", Contract: "seer",
			Breaks:  []string{"idempotency.key-exact"},
			Replace: identity(func(_ *core.Request, s *idem.Source) { s.Key, _, _ = strings.Cut(s.Key, ",") }),
		},
		{
			ID: "idempotency-key-quoted", Does: "Takes the quotes around a key off.", Contract: "seer",
			Breaks:  []string{"idempotency.key-exact"},
			Replace: identity(func(_ *core.Request, s *idem.Source) { s.Key = strings.Trim(s.Key, `"`) }),
		},
		{
			ID: "idempotency-key-number", Does: "Keeps a key of digits as a number.", Contract: "notes",
			Breaks: []string{"idempotency.key-exact"},
			Replace: identity(func(_ *core.Request, s *idem.Source) {
				if f, err := strconv.ParseFloat(s.Key, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
					s.Key = strconv.FormatFloat(f, 'g', -1, 64)
				}
			}),
		},
	}
}

// noteTexts rewrites the text of a note before it is kept.
func noteTexts(change func(string) string) func(http.Handler) http.Handler {
	return noteBodies(func(note map[string]any) {
		if s, ok := note["text"].(string); ok {
			note["text"] = change(s)
		}
	})
}

func keptTexts() []Mutant {
	return []Mutant{
		{
			ID: "resource-text-composed", Does: "Keeps a letter and its accent as one character.", Contract: "notes",
			Breaks: []string{"resources.echo"}, Wrap: noteTexts(norm.NFC.String),
		},
		{
			ID: "resource-text-basic-plane", Does: "Keeps a question mark for a character of more than three bytes, as a database with a short UTF-8 does.", Contract: "notes",
			Breaks: []string{"resources.echo"},
			Wrap: noteTexts(func(s string) string {
				return strings.Map(func(c rune) rune {
					if c > 0xffff {
						return '?'
					}
					return c
				}, s)
			}),
		},
		{
			ID: "resource-text-cut", Does: "Keeps the first 255 characters of a text.", Contract: "notes",
			Breaks: []string{"resources.echo"},
			Wrap: noteTexts(func(s string) string {
				r := []rune(s)
				return string(r[:min(255, len(r))])
			}),
		},
		{
			ID: "resource-text-escaped", Does: "Escapes a text for HTML before it keeps it.", Contract: "notes",
			Breaks: []string{"resources.echo"}, Wrap: noteTexts(html.EscapeString),
		},
		{
			ID: "resource-text-newlines", Does: "Keeps one kind of line break for another.", Contract: "notes",
			Breaks: []string{"resources.echo"},
			Wrap:   noteTexts(func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }),
		},
		{
			ID: "resource-text-nul", Does: "Fails on a text with the character NUL, which its database does not hold.", Contract: "notes",
			Breaks: []string{"wire.server-error"}, Families: []string{"resources", "validation"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if is(r, "POST", "/notebooks/*/notes") && strings.ContainsRune(text(decoded(bodyOf(r)), "text"), 0) {
					broken(next, w, r)
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "resource-tags-cut", Does: "Keeps the first ten of up to twelve tags.", Contract: "notes",
			Breaks: []string{"resources.echo"},
			Wrap: noteBodies(func(note map[string]any) {
				if tags, ok := note["tags"].([]any); ok {
					note["tags"] = tags[:min(10, len(tags))]
				}
			}),
		},
		{
			ID: "resource-float32", Does: "Keeps coordinates as floats of 32 bits.", Contract: "notes",
			Breaks: []string{"resources.echo"},
			Wrap: noteBodies(func(note map[string]any) {
				place, _ := note["place"].(map[string]any)
				for name, v := range place {
					if n, ok := v.(json.Number); ok {
						f, _ := n.Float64()
						place[name] = json.Number(strconv.FormatFloat(float64(float32(f)), 'g', -1, 64))
					}
				}
			}),
		},
	}
}

// broken answers with a failure of the server, in the form of the notes contract.
func broken(next http.Handler, w http.ResponseWriter, r *http.Request) {
	own := r.Clone(r.Context())
	own.Method, own.URL, own.Body = http.MethodGet, &url.URL{Path: "/notes/none"}, http.NoBody
	a := ask(next, own)
	a.status = http.StatusInternalServerError
	a.set(map[string]any{"error": map[string]any{"code": "BROKEN", "trace": a.header.Get("Request-Id")}})
	a.send(w)
}

// folding gives a query other names or values.
func folding(change func(q url.Values) url.Values) func(http.Handler) http.Handler {
	return wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = change(r.URL.Query()).Encode()
		next.ServeHTTP(w, r)
	})
}

func names() []Mutant {
	return []Mutant{
		{
			ID: "validation-member-case", Does: "Does not tell capital letters in the names of members, as some decoders do not.", Contract: "notes",
			Breaks: enforces("validation.unknown-member"),
			Replace: decoding(func(b []byte) []byte {
				m := decoded(b)
				if m == nil || !json.Valid(b) {
					return b
				}
				own := map[string]any{}
				for _, name := range slices.Backward(slices.Sorted(maps.Keys(m))) { // capitals come last, and count
					own[strings.ToLower(name)] = m[name]
				}
				return encode(own)
			}),
		},
		{
			ID: "validation-parameter-name-case", Does: "Does not tell capital letters in the names of parameters.", Contract: "notes",
			Breaks: []string{"validation.unknown-parameter"},
			Wrap: folding(func(q url.Values) url.Values {
				own := url.Values{}
				for name, vs := range q {
					own[strings.ToLower(name)] = append(own[strings.ToLower(name)], vs...)
				}
				return own
			}),
		},
		{
			ID: "validation-parameter-value-case", Does: "Takes TRUE for true and NEWEST for newest.", Contract: "notes",
			Breaks: []string{"validation.parameter"},
			Wrap: folding(func(q url.Values) url.Values {
				for _, name := range []string{"sort", "pinned"} {
					if q.Has(name) {
						q.Set(name, strings.ToLower(q.Get(name)))
					}
				}
				return q
			}),
		},
		{
			ID: "validation-boolean-words", Does: "Takes 1 for true and 0 for false.", Contract: "notes",
			Breaks: []string{"validation.parameter"},
			Wrap: folding(func(q url.Values) url.Values {
				if v, ok := map[string]string{"1": "true", "0": "false"}[q.Get("pinned")]; ok {
					q.Set("pinned", v)
				}
				return q
			}),
		},
		{
			ID: "page-size-32-bits", Does: "Reads a page size into 32 bits and forgets the rest.", Contract: "seer",
			Breaks: []string{"collections.limit-rejected"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw != nil {
					if n, err := strconv.ParseInt(*raw, 10, 64); err == nil {
						short := strconv.Itoa(int(int32(n)))
						raw = &short
					}
				}
				return core.PageSize(l, raw)
			}),
		},
		{
			ID: "page-size-overflow", Does: "Refuses a page size that it cannot hold, where one out of bounds is taken for the nearest bound.", Contract: "notes",
			Breaks: []string{"collections.limit-clamped"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw != nil {
					if _, err := strconv.ParseInt(*raw, 10, 32); err != nil {
						return 0, false
					}
				}
				return core.PageSize(l, raw)
			}),
		},
		{
			ID: "page-size-hexadecimal", Does: "Reads a page size as its language reads a number, hexadecimal ones too.", Contract: "seer",
			Breaks: []string{"collections.limit-rejected"},
			Replace: size(func(l *spec.PageLimit, raw *string) (int, bool) {
				if raw != nil {
					if n, err := strconv.ParseInt(*raw, 0, 32); err == nil {
						plain := strconv.Itoa(int(n))
						raw = &plain
					}
				}
				return core.PageSize(l, raw)
			}),
		},
	}
}

func instants() []Mutant {
	return []Mutant{
		{
			ID: "filter-after-local", Does: "Reads the instant of a filter without its offset.", Contract: "notes",
			Breaks: []string{"collections.filter-match", "collections.filter-complete"},
			Wrap: folding(func(q url.Values) url.Values {
				if since, err := withoutOffset(q.Get("since")); err == nil {
					q.Set("since", since)
				}
				return q
			}),
		},
		{
			ID: "bars-as-of-local", Does: "Reads as_of without its offset.", Contract: "seer",
			Breaks: []string{"tools.reproducible"},
			May:    []May{{"tools.future-refused", "what is past may be in the future without its offset"}},
			Wrap: rewriting(func(_, input map[string]any) {
				if at, err := withoutOffset(text(input, "as_of")); err == nil {
					input["as_of"] = at
				}
			}),
		},
		{
			ID: "validation-leap-day", Does: "Takes the 29th of February for a day of every year.", Contract: "seer",
			Breaks: enforces("validation.keywords"),
			Wrap: forgiving(refusedWith(http.StatusBadRequest), func(_, input map[string]any) {
				for _, name := range []string{"start", "end"} {
					if s := text(input, name); strings.HasSuffix(s, "-02-29") {
						input[name] = s[:len(s)-2] + "28"
					}
				}
			}),
		},
	}
}

// withoutOffset is the wall clock of an instant, taken for UTC.
func withoutOffset(s string) (string, error) {
	if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
		return "", err
	}
	if len(s) < 6 || strings.HasSuffix(s, "Z") {
		return "", errors.New("there is no offset")
	}
	return s[:len(s)-6] + "Z", nil
}
