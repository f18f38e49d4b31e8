package conformance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// doors makes one door a key, and is the whole server that the examples judge.
func doors() http.Handler {
	var mu sync.Mutex
	made := map[string][2]string{} // key -> body, id
	mux := http.NewServeMux()      // it answers 404 and 405 by itself
	mux.HandleFunc("POST /doors", func(w http.ResponseWriter, r *http.Request) {
		var sent map[string]any
		bad := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&sent)
		body, _ := json.Marshal(sent) // the order of members and the blanks between them are no difference
		key := r.Header.Get("Idempotency-Key")
		mu.Lock()
		defer mu.Unlock()
		door, known := made[key]
		switch {
		case key == "", bad != nil:
			w.WriteHeader(http.StatusBadRequest)
			return
		case known && door[0] != string(body):
			w.WriteHeader(http.StatusConflict)
			return
		case !known:
			door = [2]string{string(body), fmt.Sprint("door-", len(made))}
			made[key] = door
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%q}`, door[1])
	})
	return mux
}
