package mcp

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"

	"assay.kit/reference/core"
)

// Bounds of sessions and of what one session may have open.
const (
	maxSessions   = 4096 // of one client; beyond, the one that was silent longest ends
	maxInFlight   = 256  // requests of one session
	maxStandalone = 8    // GET streams of one session; beyond, the oldest ends
)

// session is one client's connection, from initialize to DELETE or expiry. Its fields but ended are
// guarded by Handler.mu.
type session struct {
	id    string
	owner Owner
	last  time.Time // of its latest request, on the contract clock

	ended      chan struct{}
	streams    map[int]*stream               // that may be resumed
	calls      map[string]context.CancelFunc // in flight, by the id's key
	standalone []*stream
	counter    int // of streams
}

// Owner is whose session it is: the client and its workspace, not the credential, so that a rotated
// token goes on with it.
type Owner struct{ Workspace, Client string }

func ownerOf(p core.Principal) Owner { return Owner{p.Workspace, p.Client} }

// newSessionID is 32 random bytes as base64url: visible ASCII, and nothing to guess.
func newSessionID() string {
	var b [32]byte
	rand.Read(b[:]) // never fails, by its documentation
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// open starts a session.
func (h *Handler) open(p core.Principal) *session {
	now := h.Clock.Now()
	s := &session{
		id: h.Rules.SessionID(), owner: ownerOf(p), last: now,
		ended: make(chan struct{}), streams: map[int]*stream{}, calls: map[string]context.CancelFunc{},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		close(s.ended)
		return s
	}
	h.makeRoom(s.owner, now)
	h.sessions[s.id] = s
	return s
}

// makeRoom ends what has expired, and the owner's most silent session if it has too many. Both need a
// look at all of them, so it is done only when their number has doubled since the last time.
func (h *Handler) makeRoom(o Owner, now time.Time) {
	if len(h.sessions) < h.sweep {
		return
	}
	own := 0
	var silent *session
	for _, s := range h.sessions {
		switch {
		case h.Rules.Expired(s.last, now, h.SessionTTL):
			h.end(s)
		case s.owner == o:
			if own++; silent == nil || s.last.Before(silent.last) {
				silent = s
			}
		}
	}
	if own >= maxSessions {
		h.end(silent)
	}
	h.sweep = max(minSweep, 2*len(h.sessions))
	if own >= maxSessions/2 { // near the bound it is looked at each time
		h.sweep = len(h.sessions)
	}
}

const minSweep = 64

// find returns the live session of an id that the principal owns, and notes that it was used. A foreign
// session is answered like one that never was.
func (h *Handler) find(id string, p core.Principal) *session {
	now := h.Clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	switch {
	case s == nil || !h.Rules.Owns(s.owner, p):
		return nil
	case h.Rules.Expired(s.last, now, h.SessionTTL):
		h.end(s)
		return nil
	}
	s.last = now
	return s
}

// end takes a session away: its streams end and its calls stop. h.mu is held.
func (h *Handler) end(s *session) {
	if h.sessions[s.id] != s {
		return
	}
	delete(h.sessions, s.id)
	close(s.ended)
	for _, stop := range s.calls {
		stop()
	}
}

// expire waits for the end of a session's life on the contract clock, and ends it then. It returns when
// the session has ended or ctx does.
func (h *Handler) expire(ctx context.Context, s *session) {
	for {
		h.mu.Lock()
		last, live := s.last, h.sessions[s.id] == s
		h.mu.Unlock()
		if !live || h.Clock.Wait(ctx, last.Add(h.SessionTTL)) != nil {
			return
		}
		h.mu.Lock()
		if h.Rules.Expired(s.last, h.Clock.Now(), h.SessionTTL) {
			h.end(s)
		}
		unchanged := s.last.Equal(last) && h.sessions[s.id] == s
		h.mu.Unlock()
		if unchanged { // a rule that never lets a session expire
			return
		}
	}
}

// stream opens a stream of a session; nil is none.
func (h *Handler) stream(s *session) *stream {
	if s == nil {
		return newStream(nil, 0)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.counter++
	return newStream(s, s.counter)
}

// listen opens a stream that answers no request. The oldest of too many ends.
func (h *Handler) listen(s *session) *stream {
	st := h.stream(s)
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.standalone = append(s.standalone, st); len(s.standalone) > maxStandalone {
		s.standalone[0].finish(nil)
		s.standalone = slices.Delete(s.standalone, 0, 1)
	}
	return st
}

// unlisten forgets a stream that nobody reads any more: nothing was sent on it that could be missed.
func (h *Handler) unlisten(s *session, st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.standalone = slices.DeleteFunc(s.standalone, func(o *stream) bool { return o == st })
}

// resumable lets a stream be found by the ids of its events.
func (h *Handler) resumable(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	st.session.streams[st.number] = st
}

// retire hands a stream that has ended to the journal.
func (h *Handler) retire(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, old := range h.journal.keep(st) {
		delete(old.session.streams, old.number)
	}
}

// resume finds the stream of an event id and the position after that event.
func (h *Handler) resume(s *session, eventID string) (st *stream, from int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, st := range s.streams {
		n, _ := st.length()
		for i := range n {
			if h.Rules.EventID(st.number, i) == eventID {
				return st, i + 1, true
			}
		}
	}
	return nil, 0, false
}
