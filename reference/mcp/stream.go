package mcp

import "sync"

// stream is the sequence of messages that answers one request, or that one GET listens to. Whoever
// reads it may be cut off and another may go on where the first stopped: messages stay until the
// journal drops the stream.
type stream struct {
	session *session // nil: it cannot be resumed, and its events have no ids
	number  int      // within the session

	mu      sync.Mutex
	events  [][]byte
	size    int
	done    bool
	changed chan struct{} // closed at each change, then made anew
	reader  int           // who reads it now; an earlier reader stops
}

func newStream(s *session, number int) *stream {
	return &stream{session: s, number: number, changed: make(chan struct{})}
}

// add appends a message; after the end it does nothing.
func (s *stream) add(message []byte) { s.change(message, false) }

// finish appends the last message, nil for none, and ends the stream.
func (s *stream) finish(message []byte) { s.change(message, true) }

func (s *stream) change(message []byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	if message != nil {
		s.events = append(s.events, message)
		s.size += len(message)
	}
	s.done = last
	close(s.changed)
	s.changed = make(chan struct{})
}

// take makes the caller the only reader and returns its number.
func (s *stream) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reader++
	close(s.changed)
	s.changed = make(chan struct{})
	return s.reader
}

// view is what a reader sees from a position on.
type view struct {
	events  [][]byte
	done    bool
	taken   bool // by another reader
	changed <-chan struct{}
}

func (s *stream) since(reader, from int) view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := view{done: s.done, taken: s.reader != reader, changed: s.changed}
	if from < len(s.events) {
		v.events = s.events[from:]
	}
	return v
}

func (s *stream) length() (events, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events), s.size
}

// Bounds of what is kept for readers that were cut off, over all sessions.
const (
	journalStreams = 2048
	journalBytes   = 32 << 20
)

// journal holds the streams that have ended, the oldest first, within its bounds.
type journal struct {
	streams []*stream
	bytes   int
}

// keep takes a stream in and returns those that must go for it.
func (j *journal) keep(s *stream) (gone []*stream) {
	_, size := s.length()
	j.streams = append(j.streams, s)
	j.bytes += size
	for len(j.streams) > journalStreams || j.bytes > journalBytes {
		old := j.streams[0]
		j.streams[0] = nil
		j.streams = j.streams[1:]
		_, size := old.length()
		j.bytes -= size
		gone = append(gone, old)
	}
	return gone
}
