package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// StreamEvent is one event of a text/event-stream body (HTML standard §9.2.6). Data has its lines
// joined by LF.
type StreamEvent struct {
	Name    string // of the event; "" is message
	Data    []byte
	ID      string
	HasID   bool // an id field was there, if only to reset it
	HasData bool // events without data are not dispatched: comments, a retry alone
	Retry   int  // milliseconds; 0: not given
}

// ParseStream reads a whole event-stream body. whole is false if the last event is not ended by a
// blank line: a browser would drop it.
func ParseStream(body []byte) (events []StreamEvent, whole bool) {
	body = bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))
	var ev StreamEvent
	dirty := false // fields of an event that no blank line has ended
	flush := func() {
		if dirty {
			events = append(events, ev)
		}
		ev, dirty = StreamEvent{}, false
	}
	for len(body) > 0 {
		line, rest, ended := cutLine(body)
		body = rest
		if !ended {
			return events, false
		}
		if len(line) == 0 {
			flush()
			continue
		}
		name, value, _ := strings.Cut(string(line), ":")
		if name == "" { // a comment
			continue
		}
		dirty = true
		ev.field(name, strings.TrimPrefix(value, " "))
	}
	return events, !dirty
}

func (e *StreamEvent) field(name, value string) {
	switch name {
	case "event":
		e.Name = value
	case "data":
		if e.HasData {
			e.Data = append(e.Data, '\n')
		}
		e.Data, e.HasData = append(e.Data, value...), true
	case "id":
		if !strings.Contains(value, "\x00") {
			e.ID, e.HasID = value, true
		}
	case "retry":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && strings.Trim(value, "0123456789") == "" {
			e.Retry = n
		}
	}
}

// cutLine cuts behind CR, LF or CRLF.
func cutLine(b []byte) (line, rest []byte, ended bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	next := i + 1
	if b[i] == '\r' && next < len(b) && b[next] == '\n' {
		next++
	}
	return b[:i], b[next:], true
}
