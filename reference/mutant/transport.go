package mutant

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"assay.kit/reference/core"
	"assay.kit/reference/core/idem"
	"assay.kit/spec"
)

// transport are servers that speak HTTP badly, whatever they do with what they were told.
func transport() []Mutant { return slices.Concat(routes(), heads(), answers()) }

func routes() []Mutant {
	return []Mutant{
		{
			ID: "transport-any-media-type", Does: "Reads every body as JSON, whatever it says that it is.", Contract: "seer",
			Breaks: []string{"transport.media-type"},
			May:    []May{{"transport.code", "a body that was read after all may be refused for what it says"}},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Content-Type") != "" {
					r.Header.Set("Content-Type", "application/json")
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "transport-media-type-parameter", Does: "Compares the media type as a text, so that a charset or a capital makes it another.", Contract: "seer",
			Breaks: []string{"transport.media-type-spelling"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if ct := r.Header.Get("Content-Type"); ct != "" && ct != "application/json" {
					refuse(w, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
					return
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "transport-one-code", Does: "Gives a body that is no JSON the code of one that breaks its schema.", Contract: "seer",
			Breaks:  []string{"transport.code"},
			Replace: coded(core.InvalidJSON, "INVALID_REQUEST"),
		},
		{
			ID: "transport-media-type-400", Does: "Refuses a body of another media type with 400, as if it could not be read.", Contract: "notes",
			Breaks: []string{"transport.code"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.status == http.StatusUnsupportedMediaType {
					a.status = http.StatusBadRequest
				}
			}),
		},
		{
			ID: "transport-unreadable-binds", Does: "Reserves the key before it reads the body, and keeps it when the body is no JSON.", Contract: "seer",
			Breaks: []string{"transport.nothing-admitted", "idempotency.refusal-free"},
			Wrap: func(next http.Handler) http.Handler {
				var reserved sync.Map
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					id := r.URL.Path + "\x00" + r.Header.Get(keyHeader)
					if _, taken := reserved.Load(id); taken {
						refuse(w, http.StatusConflict, "IDEMPOTENCY_CONFLICT")
						return
					}
					a := ask(next, r)
					if a.text("code") == "INVALID_JSON" && r.Header.Get(keyHeader) != "" {
						reserved.Store(id, true)
					}
					a.send(w)
				})
			},
		},
		{
			ID: "transport-catch-all", Does: "Answers a path that does not exist with 200 and an empty object.", Contract: "seer",
			Breaks: []string{"transport.unknown-path", "transport.path-exact"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.status == http.StatusNotFound && a.text("detail") == noPath {
					a.status = http.StatusOK
					a.header.Set("Content-Type", "application/json")
					a.set(map[string]any{})
				}
			}),
		},
		{
			ID: "transport-method-404", Does: "Answers 404 where the path exists and the method does not.", Contract: "seer",
			Breaks: []string{"transport.method"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if a.status == http.StatusMethodNotAllowed {
					a = problem(http.StatusNotFound, "NOT_FOUND")
				}
				a.send(w)
			}),
		},
		{
			ID: "transport-method-ignored", Does: "Takes every method but POST and DELETE for GET.", Contract: "seer",
			Breaks: []string{"transport.method"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut || r.Method == http.MethodPatch {
					r.Method = http.MethodGet
				}
				next.ServeHTTP(w, r)
			}),
		},
		{
			ID: "transport-no-allow", Does: "Refuses a method without saying which there are.", Contract: "seer",
			Breaks: []string{"transport.allow", "wire.allow"},
			Wrap:   edit(func(_ *http.Request, a *answer) { a.header.Del("Allow") }),
		},
		{
			ID: "transport-allow-everything", Does: "Lists every method in Allow, that which it refuses too.", Contract: "notes",
			Breaks:   []string{"wire.allow"},
			Families: []string{"transport"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.header.Get("Allow") != "" {
					a.header.Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
				}
			}),
		},
		{
			ID: "transport-any-slash", Does: "Takes a path with a trailing slash for the one without.", Contract: "notes",
			Breaks: []string{"transport.path-exact"},
			Replace: func(r *core.Rules) {
				r.NormalizePath = func(path string) string { return "/" + strings.Trim(idem.Normalize(path), "/") }
			},
		},
	}
}

const noPath = "There is no such path." // detail of the refusal of an unknown path

func heads() []Mutant {
	return []Mutant{
		{
			ID: "wire-error-as-json", Does: "Sends problem details as plain application/json.", Contract: "seer",
			Breaks:   []string{"wire.media-type"},
			Families: []string{"transport"},
			Replace: func(r *core.Rules) {
				r.Render = func(t *spec.ErrorTrait, p *core.Problem, id string) (string, []byte) {
					_, body := core.Render(t, p, id)
					return "application/json", body
				}
			},
		},
		{
			ID: "wire-latin1-label", Does: "Says of its UTF-8 that it is ISO-8859-1.", Contract: "notes",
			Breaks:   []string{"wire.media-type"},
			Families: []string{"collections"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.status == http.StatusOK {
					a.header.Set("Content-Type", "application/json; charset=ISO-8859-1")
				}
			}),
		},
		{
			ID: "wire-no-request-id-on-errors", Does: "Gives a request id to successes only.", Contract: "seer",
			Breaks:   []string{"wire.request-id"},
			Families: []string{"transport"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.status >= 400 {
					a.header.Del("X-Request-Id")
				}
			}),
		},
		{
			ID: "wire-two-request-ids", Does: "Makes one request id for the header and another for the body.", Contract: "seer",
			Breaks:   []string{"wire.request-id-body"},
			Families: []string{"transport"},
			Replace: func(r *core.Rules) {
				r.Render = func(t *spec.ErrorTrait, p *core.Problem, id string) (string, []byte) {
					return core.Render(t, p, id+"0")
				}
			},
		},
		{
			ID: "wire-no-request-id-on-405", Does: "Lets the router refuse a method before a request id is made.", Contract: "notes",
			Breaks:   []string{"wire.request-id"},
			Families: []string{"transport"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if a.status == http.StatusMethodNotAllowed {
					a.header.Del("Request-Id")
				}
			}),
		},
		{
			ID: "wire-replay-without-location", Does: "Says where an export is on the first answer only.", Contract: "notes",
			Breaks:   []string{"wire.headers"},
			Families: []string{"idempotency"},
			Replace:  replay(func(_ core.Reader, _ *spec.Operation, a *core.Answer) { delete(a.Header, "Location") }),
		},
		{
			ID: "wire-request-id-of-process", Does: "Counts requests per worker, so that ids come twice.", Contract: "notes",
			Breaks:   []string{"wire.request-id-unique"},
			Families: []string{"transport"},
			Wrap: func(next http.Handler) http.Handler {
				var mu sync.Mutex
				n := 0
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					a := ask(next, r)
					mu.Lock()
					n++
					id := fmt.Sprintf("req_%d", n/2) // two workers count alike
					mu.Unlock()
					a.body = bytes.ReplaceAll(a.body, []byte(a.header.Get("Request-Id")), []byte(id))
					a.header.Set("Request-Id", id)
					a.send(w)
				})
			},
		},
		{
			ID: "wire-retry-after-fraction", Does: "Asks pollers to wait a fraction of a second.", Contract: "seer",
			Breaks:   []string{"wire.retry-after", "jobs.poll-delay"},
			Families: []string{"jobs"},
			Wrap: edit(func(r *http.Request, a *answer) {
				if is(r, "GET", "/v1/jobs/*") && a.text("state") == "running" {
					a.header.Set("Retry-After", "0.05")
				}
			}),
		},
		{
			ID: "wire-no-challenge", Does: "Refuses a token without a challenge.", Contract: "seer",
			Breaks:   []string{"wire.www-authenticate"},
			Families: []string{"idempotency"},
			Wrap:     edit(func(_ *http.Request, a *answer) { a.header.Del("Www-Authenticate") }),
		},
		{
			ID: "wire-token-mixed-up", Does: "Takes a bad page token for a bad access token and answers 401.", Contract: "seer",
			Breaks: []string{"wire.www-authenticate", "collections.cursor-refusal", "collections.mismatch-refused"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if a.text("code") == "CURSOR_INVALID" {
					a = problem(http.StatusUnauthorized, "UNAUTHENTICATED")
				}
				a.send(w)
			}),
		},
	}
}

// onlyAt changes the answers of one route.
func onlyAt(method, form string, change func(a *answer)) func(http.Handler) http.Handler {
	return edit(func(r *http.Request, a *answer) {
		if is(r, method, form) && a.status < 300 {
			change(a)
		}
	})
}

func answers() []Mutant {
	return []Mutant{
		{
			ID: "wire-bad-cursor-500", Does: "Fails on a cursor that it cannot read.", Contract: "seer",
			Breaks: []string{"wire.server-error", "collections.tamper", "collections.mismatch-refused", "collections.filters-bound", "collections.principal-bound", "collections.client-bound"},
			Wrap: wrap(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
				a := ask(next, r)
				if a.text("code") == "CURSOR_INVALID" {
					a = problem(http.StatusInternalServerError, "INTERNAL")
				}
				a.send(w)
			}),
		},
		{
			ID: "wire-undocumented-status", Does: "Answers the list of accounts with 203 after a proxy has changed it.", Contract: "seer",
			Breaks: []string{"wire.status"},
			May:    []May{{"collections.envelope", "a page is expected with 200"}},
			Wrap:   onlyAt("GET", "/v1/accounts", func(a *answer) { a.status = http.StatusNonAuthoritativeInfo }),
		},
		{
			ID: "wire-number-as-text", Does: "Shows the limits of the connection as texts.", Contract: "seer",
			Breaks:   []string{"wire.schema"},
			Families: []string{"transport", "validation"},
			Wrap: onlyAt("GET", "/v1/connection", func(a *answer) {
				body := a.object()
				for _, name := range []string{"request_limit_per_minute", "max_concurrent_jobs", "max_request_bytes", "cursor_ttl_seconds"} {
					body[name] = fmt.Sprint(body[name])
				}
				a.set(body)
			}),
		},
		{
			ID: "wire-byte-order-mark", Does: "Puts a byte order mark before one kind of answer.", Contract: "seer",
			Breaks:   []string{"wire.utf8", "wire.json"},
			Families: []string{"validation"},
			Wrap:     onlyAt("GET", "/v1/tools/*", func(a *answer) { a.body = append([]byte("\xef\xbb\xbf"), a.body...) }),
		},
		{
			ID: "wire-latin1-text", Does: "Writes the dash in one of its texts in another character set.", Contract: "notes",
			Breaks:   []string{"wire.utf8", "wire.error-shape"},
			Families: []string{"transport"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				a.body = bytes.ReplaceAll(a.body, []byte(noPath), []byte("No such path \x96 look it up."))
			}),
		},
		{
			ID: "wire-member-twice", Does: "Writes the id of an account twice.", Contract: "seer",
			Breaks:   []string{"wire.json"},
			Families: []string{"validation"},
			Wrap: onlyAt("GET", "/v1/accounts/*", func(a *answer) {
				a.body = append([]byte(`{"account_id":"`+a.text("account_id")+`",`), bytes.TrimPrefix(a.body, []byte("{"))...)
			}),
		},
		{
			ID: "wire-error-status-differs", Does: "Says another status in the body of a refusal than on the wire.", Contract: "seer",
			Breaks:   []string{"wire.error-shape"},
			Families: []string{"transport"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if body := a.object(); a.status >= 400 && body != nil {
					body["status"] = http.StatusInternalServerError
					a.set(body)
				}
			}),
		},
		{
			ID: "wire-plain-404", Does: "Lets the router answer an unknown path itself, with a line of text.", Contract: "notes",
			Breaks:   []string{"wire.error-shape", "wire.media-type"},
			Families: []string{"transport"},
			Wrap: edit(func(_ *http.Request, a *answer) {
				if bytes.Contains(a.body, []byte(noPath)) {
					a.header.Set("Content-Type", "text/plain; charset=utf-8")
					a.body = []byte("404 page not found\n")
				}
			}),
		},
		{
			ID: "wire-leaks-query", Does: "Shows the statement that found nothing.", Contract: "seer",
			Breaks:   []string{"wire.leak"},
			Families: []string{"transport"},
			Replace: func(r *core.Rules) {
				r.Render = func(t *spec.ErrorTrait, p *core.Problem, id string) (string, []byte) {
					own := *p
					if own.Kind == core.NotFound {
						own.Detail = "sql: no rows in result set: SELECT id, body FROM resources WHERE id = ?"
					}
					return core.Render(t, &own, id)
				}
			},
		},
		{
			ID: "wire-echoes-token", Does: "Shows the headers of a request that it refuses.", Contract: "notes",
			Breaks:   []string{"wire.leak"},
			Families: []string{"transport"},
			Wrap: edit(func(r *http.Request, a *answer) {
				if body := a.object(); a.status == http.StatusBadRequest && body != nil {
					body["request"] = map[string]any{"authorization": r.Header.Get("Authorization")}
					a.set(body)
				}
			}),
		},
		{
			ID: "wire-local-time", Does: "Writes the time at which an account was opened without an offset.", Contract: "seer",
			Breaks:   []string{"wire.date-time", "wire.schema"},
			Families: []string{"validation"},
			Wrap: onlyAt("GET", "/v1/accounts/*", func(a *answer) {
				body := a.object()
				body["created_at"] = strings.TrimSuffix(text(body, "created_at"), "Z")
				a.set(body)
			}),
		},
		{
			ID: "wire-money-decimal", Does: "Shows the balance of an account as a decimal text.", Contract: "seer",
			Breaks:   []string{"wire.money", "wire.schema"},
			Families: []string{"validation"},
			Wrap: onlyAt("GET", "/v1/accounts/*", func(a *answer) {
				body := a.object()
				if balance, ok := body["balance"].(map[string]any); ok {
					balance["amount"] = "1000000.00"
				}
				a.set(body)
			}),
		},
		{
			ID: "wire-cut-json", Does: "Sends a file without its last bytes.", Contract: "notes",
			Breaks: []string{"wire.json", "jobs.artifact"},
			Wrap:   onlyAt("GET", "/files/*", func(a *answer) { a.body = a.body[:max(0, len(a.body)-2)] }),
		},
	}
}
