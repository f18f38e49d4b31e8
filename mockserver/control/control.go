// Package control is the HTTP face of what a test may do to a running system behind its API's back:
// move the contract clock, take authority away, hold or fail jobs, hide and add items. It is meant
// for a loopback listener of its own; it asks for no credential.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"assay.kit/reference/core"
)

// Prefix is the path that all of it is under.
const Prefix = "/_assay/"

// Roles that a command means if it names none.
const (
	primary  = "primary"
	oldToken = "rotated_old"
)

// maxBody bounds a command.
const maxBody = 1 << 20

// System is what the commands drive.
type System interface {
	SetRetired(ctx context.Context, credential string, retired bool) error
	SetGrant(ctx context.Context, grant string, held bool) error
	SetHidden(ctx context.Context, credential, kind, id string, hidden bool) error
	SetUnavailable(credential string, d time.Duration) error
	HoldNext(ctx context.Context, credential string, n int) error
	FailNext(ctx context.Context, credential, code string, n int) error
	Release(ctx context.Context, job string) error
	AddItem(ctx context.Context, credential, kind string, body map[string]any) (id string, err error)
}

// Clock is a contract clock that can be moved.
type Clock interface {
	Now() time.Time
	Advance(ctx context.Context, d time.Duration) error
	Freeze(ctx context.Context) error
	Resume(ctx context.Context) error
}

// command are the arguments of all commands. Numbers may come as text, since a target profile fills
// them into placeholders.
type command struct {
	Seconds number         `json:"seconds"`
	Count   number         `json:"count"`
	Role    string         `json:"role"` // name of a credential
	Grant   string         `json:"grant"`
	Job     string         `json:"job"`
	Code    string         `json:"code"`
	Kind    string         `json:"kind"` // resource type
	ID      string         `json:"id"`
	Body    map[string]any `json:"body"`
}

type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e10 {
		return fmt.Errorf("%s is no reasonable number", b)
	}
	*n = number(f)
	return nil
}

func (n number) duration() time.Duration { return time.Duration(float64(n) * float64(time.Second)) }

// action is one command; its result, if not nil, is added to the answer.
type action struct {
	name string
	run  func(context.Context, command) (map[string]any, error)
}

// Host is whoever runs the system, for what is done to it as a whole.
type Host interface {
	// Restart ends the system as a crash would and starts it again on the same address and data.
	Restart(ctx context.Context) error
}

// New returns the handler of all commands: POST /_assay/NAME with a JSON object or no body, and
// GET /_assay/ready. The answer is {"now": contract time} and what the command made, or {"error"}
// with 400, 404 for a name that the system does not have, or 500. host may be nil: then there is no
// restart.
func New(sys System, clock Clock, host Host) http.Handler {
	mux := http.NewServeMux()
	h := &handler{clock: clock}
	mux.HandleFunc("GET "+Prefix+"ready", func(w http.ResponseWriter, _ *http.Request) { h.answer(w, nil) })
	all := actions(sys, clock)
	if host != nil {
		all = append(all, action{"restart", func(ctx context.Context, _ command) (map[string]any, error) { return nil, host.Restart(ctx) }})
	}
	for _, a := range all {
		mux.Handle("POST "+Prefix+a.name, h.command(a))
	}
	return local(mux)
}

func actions(sys System, clock Clock) []action {
	return append(timeActions(sys, clock), []action{
		{"revoke_grant", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.SetGrant(ctx, c.Grant, false)
		}},
		{"restore_grant", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.SetGrant(ctx, c.Grant, true)
		}},
		{"retire_token", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.SetRetired(ctx, or(c.Role, oldToken), true)
		}},
		{"restore_token", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.SetRetired(ctx, or(c.Role, oldToken), false)
		}},
		{"hold_job", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.HoldNext(ctx, c.Role, c.count())
		}},
		{"release_job", func(ctx context.Context, c command) (map[string]any, error) { return nil, sys.Release(ctx, c.Job) }},
		{"fail_job", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.FailNext(ctx, c.Role, c.Code, c.count())
		}},
		{"hide_item", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.SetHidden(ctx, or(c.Role, primary), c.Kind, c.ID, true)
		}},
		{"show_item", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, sys.SetHidden(ctx, or(c.Role, primary), c.Kind, c.ID, false)
		}},
		{"add_item", func(ctx context.Context, c command) (map[string]any, error) {
			id, err := sys.AddItem(ctx, or(c.Role, primary), c.Kind, c.Body)
			return map[string]any{"id": id}, err
		}},
	}...)
}

func timeActions(sys System, clock Clock) []action {
	return []action{
		{"advance", func(ctx context.Context, c command) (map[string]any, error) {
			return nil, clock.Advance(ctx, c.Seconds.duration())
		}},
		{"freeze", func(ctx context.Context, _ command) (map[string]any, error) { return nil, clock.Freeze(ctx) }},
		{"resume", func(ctx context.Context, _ command) (map[string]any, error) { return nil, clock.Resume(ctx) }},
		{"unavailable", func(_ context.Context, c command) (map[string]any, error) {
			return nil, sys.SetUnavailable(c.Role, c.Seconds.duration())
		}},
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (c command) count() int {
	if c.Count == 0 {
		return 1
	}
	return int(c.Count)
}

type handler struct{ clock Clock }

func (h *handler) command(a action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := read(r)
		if err != nil {
			fail(w, http.StatusBadRequest, fmt.Errorf("%s: %w", a.name, err))
			return
		}
		result, err := a.run(r.Context(), c)
		switch {
		case errors.Is(err, core.ErrUnknown):
			fail(w, http.StatusNotFound, fmt.Errorf("%s: %w", a.name, err))
		case err != nil:
			fail(w, http.StatusBadRequest, fmt.Errorf("%s: %w", a.name, err))
		default:
			h.answer(w, result)
		}
	})
}

func read(r *http.Request) (command, error) {
	var c command
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return c, fmt.Errorf("the command cannot be read: %w", err)
	case len(b) > maxBody:
		return c, fmt.Errorf("the command exceeds %d bytes", maxBody)
	case len(bytes.TrimSpace(b)) == 0:
		return c, nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(&c); err != nil {
		return c, fmt.Errorf("the command is not as expected: %w", err)
	}
	return c, nil
}

func (h *handler) answer(w http.ResponseWriter, result map[string]any) {
	body := map[string]any{"now": core.Timestamp(h.clock.Now())}
	for k, v := range result {
		body[k] = v
	}
	write(w, http.StatusOK, body)
}

func fail(w http.ResponseWriter, status int, err error) {
	write(w, status, map[string]any{"error": err.Error()})
}

func write(w http.ResponseWriter, status int, body map[string]any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a caller that has gone needs no answer
}

// local refuses what a web page in somebody's browser would send to a port of this machine.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			fail(w, http.StatusForbidden, errors.New("the control API is not for browsers"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
