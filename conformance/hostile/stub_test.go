package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// stub is a server of the notes contract that is only as good as it has to be for the suite to get
// somewhere; rows bend it.
type stub struct {
	mu        sync.Mutex
	n         int
	items     map[string][]map[string]any // by resource, in order of creation
	keys      map[string]answer
	id        func(kind string, n int) string
	neverEnds bool // jobs stay in progress
	endless   bool // every page has a next one
	crowd     int  // foreign items in every collection
	clock     func() time.Time
}

type answer struct {
	status int
	fields map[string]string
	body   any
}

func newStub() *stub {
	return &stub{items: map[string][]map[string]any{}, keys: map[string]answer{}, clock: time.Now,
		id: func(kind string, n int) string { return kind + "_" + strconv.Itoa(n) }}
}

func refusal(status int, code string) answer {
	return answer{status: status, body: map[string]any{"error": map[string]any{"code": code, "message": "No."}}}
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	a := s.route(r)
	h := w.Header()
	h.Set("Request-Id", "r"+strconv.Itoa(s.n))
	h.Set("Content-Type", "application/json")
	h.Set("Date", s.clock().UTC().Format(http.TimeFormat))
	for k, v := range a.fields {
		h.Set(k, v)
	}
	b, err := json.Marshal(a.body)
	if err != nil {
		panic(err)
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(a.status)
	_, _ = w.Write(b)
}

func (s *stub) route(r *http.Request) answer {
	if r.Header.Get("Authorization") != "Bearer "+token {
		a := refusal(401, "NO_TOKEN")
		a.fields = map[string]string{"WWW-Authenticate": "Bearer"}
		return a
	}
	parts := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	switch {
	case r.Method == "POST":
		return s.keyed(r, parts)
	case len(parts) == 1 && parts[0] == "notebooks":
		return s.list(r, "notebooks", "notebooks", "id")
	case len(parts) == 3:
		return s.list(r, "notes "+parts[1], "notes", "note_id")
	case len(parts) == 2 && r.Method == "DELETE":
		return s.one("exports", "export_id", parts[1], func(it map[string]any) {
			if it["phase"] != "done" {
				it["phase"] = "stopped"
			}
		})
	case len(parts) == 2 && parts[0] == "exports":
		return s.one("exports", "export_id", parts[1], s.step)
	case len(parts) == 2 && parts[0] == "notebooks":
		return s.one("notebooks", "id", parts[1], nil)
	case len(parts) == 2 && parts[0] == "notes":
		return s.one("all notes", "note_id", parts[1], nil)
	case len(parts) == 2 && parts[0] == "files":
		return answer{status: 200, body: map[string]any{"file_id": parts[1], "created_at": s.now(),
			"content": map[string]any{"form": "text", "length": 1, "lines": []string{"x"}}}}
	}
	return refusal(404, "NO_SUCH_THING")
}

func (s *stub) now() string { return s.clock().UTC().Format(time.RFC3339Nano) }

// keyed repeats the answer of a key.
func (s *stub) keyed(r *http.Request, parts []string) answer {
	key := r.Header.Get("Request-Key")
	if key == "" && parts[0] != "exports" {
		return refusal(400, "KEY_MISSING")
	}
	at := r.URL.Path + " " + key
	if a, ok := s.keys[at]; ok && key != "" {
		return a
	}
	var in map[string]any
	if json.NewDecoder(r.Body).Decode(&in) != nil || in == nil {
		return refusal(400, "NOT_JSON")
	}
	a := s.create(parts, in)
	a.fields["Request-Key-Expires"] = s.clock().Add(time.Hour).UTC().Format(time.RFC3339)
	s.keys[at] = a
	return a
}

func (s *stub) create(parts []string, in map[string]any) answer {
	kind, member, list, status := "nb", "id", "notebooks", 200
	switch {
	case len(parts) == 3:
		kind, member, list, status = "n", "note_id", "notes "+parts[1], 201
		in["notebook_id"] = parts[1]
	case parts[0] == "exports":
		kind, member, list, status = "x", "export_id", "exports", 202
		in["phase"] = "queued"
	}
	id := s.id(kind, s.n)
	in[member], in["created_at"] = id, s.now()
	s.items[list] = append(s.items[list], in)
	if kind == "n" {
		s.items["all notes"] = append(s.items["all notes"], in)
	}
	shown := map[string]any{}
	for k, v := range in {
		shown[k] = v
	}
	return answer{status: status, body: shown, fields: map[string]string{"Location": "/" + parts[0] + "/" + url.PathEscape(id)}}
}

// step moves a job one state on at each read.
func (s *stub) step(it map[string]any) {
	switch {
	case it["phase"] == "queued":
		it["phase"] = "working"
	case it["phase"] == "working" && !s.neverEnds:
		it["phase"], it["file"] = "done", "f_1"
	}
}

func (s *stub) one(list, member, id string, change func(map[string]any)) answer {
	for _, it := range s.items[list] {
		if it[member] != id {
			continue
		}
		if change != nil {
			change(it)
		}
		return answer{status: 200, body: it}
	}
	return refusal(404, "NO_SUCH_THING")
}

func (s *stub) list(r *http.Request, list, name, member string) answer {
	q := r.URL.Query()
	items := []any{}
	for _, it := range s.items[list] {
		if l := q.Get("label"); l == "" || it["label"] == l {
			items = append(items, it)
		}
	}
	for i := range s.crowd {
		items = append(items, map[string]any{member: fmt.Sprintf("%07d", i), "notebook_id": "nb", "title": "t", "text": "t", "label": q.Get("label"), "created_at": s.now()})
	}
	size, err := strconv.Atoi(q.Get("page_size"))
	if err != nil {
		size = 10
	}
	if s.crowd == 0 {
		size = min(50, max(1, size))
	} else {
		size = s.crowd
	}
	from, _ := strconv.Atoi(q.Get("after"))
	page := items[min(from, len(items)):min(from+size, len(items))]
	body := map[string]any{name: page}
	if from+size < len(items) || s.endless {
		body["next"] = strconv.Itoa(from + size)
	}
	return answer{status: 200, body: body}
}
