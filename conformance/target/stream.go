package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"os"
	"strings"
	"time"

	"assay.kit/conformance/wire"
)

// grace is what a server has to end a stream after the last event that was waited for.
const grace = 250 * time.Millisecond

func isEventStream(h wire.Head) bool {
	mediaType, _, _ := strings.Cut(wire.Lookup(h.Fields, "Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(mediaType), "text/event-stream")
}

// stream reads an event stream event by event, each with its time, until the server ends it, the
// call has what it came for, or the time is up.
func (r *REST) stream(ctx context.Context, cn *conn, ex *wire.Exchange, fr framing, c Call) (reuse bool) {
	splitter := eventSplitter{src: bufio.NewReader(fr.source(cn.br))}
	left := r.opt.MaxBody
	if c.Listen > 0 {
		r.hurry(ctx, cn, c.Listen)
	}
	for satisfied := false; ; {
		data, err := splitter.next(left)
		left -= int64(len(data))
		if len(data) > 0 {
			ex.Events = append(ex.Events, wire.Event{At: r.Now(), Data: data})
		}
		switch {
		case errors.Is(err, io.EOF) && fr.chunked:
			if err := readTrailer(cn.br); err != nil {
				r.ended(ctx, ex, err, wire.EndTruncated)
				return false
			}
			fallthrough
		case errors.Is(err, io.EOF) && (fr.length < 0 || splitter.read == fr.length):
			ex.Last, ex.End = r.Now(), wire.EndComplete
			return fr.reuse
		case err != nil && satisfied && errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil:
			ex.Last, ex.End = r.Now(), wire.EndOpen
			return false
		case len(data) == 0 && c.Listen > 0 && errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(ctx.Err(), context.Canceled):
			// A stream that was opened to listen has no end: that the time is up is ours, not the server's doing.
			ex.Last, ex.End = r.Now(), wire.EndOpen
			return false
		case err != nil:
			r.ended(ctx, ex, err, wire.EndTruncated)
			return false
		}
		if !satisfied && c.Until(ex.Events[len(ex.Events)-1]) {
			satisfied = true
			r.hurry(ctx, cn, c.Grace)
		}
	}
}

// hurry leaves the server little time to end a stream. A call whose context ends meanwhile keeps the
// deadline that this set.
func (r *REST) hurry(ctx context.Context, cn *conn, d time.Duration) {
	if d <= 0 {
		d = grace
	}
	at := time.Now().Add(d)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(at) {
		return
	}
	_ = cn.SetDeadline(at)
	if ctx.Err() != nil {
		_ = cn.SetDeadline(time.Unix(1, 0))
	}
}

// source is the body without its framing.
func (f framing) source(br *bufio.Reader) io.Reader {
	switch {
	case f.chunked:
		return httputil.NewChunkedReader(br)
	case f.length >= 0:
		return io.LimitReader(br, f.length)
	default:
		return br
	}
}

// eventSplitter cuts a stream behind each blank line, where an event ends (HTML standard, 9.2.6).
// Bytes are kept as they are; a line may end with CR, LF or both.
type eventSplitter struct {
	src  *bufio.Reader
	read int64
	cr   bool // the last byte was a CR
}

// next reads one event, at most limit bytes. At the end of the stream it returns what is left of an
// unfinished event, and io.EOF.
func (s *eventSplitter) next(limit int64) ([]byte, error) {
	var event []byte
	started, line := false, 0 // line: bytes of the current one
	for {
		b, err := s.src.ReadByte()
		if err != nil {
			return event, err
		}
		s.read++
		if int64(len(event)) >= limit {
			return event, fmt.Errorf("body: %w", errOversize)
		}
		event = append(event, b)
		second := b == '\n' && s.cr // of one line end
		s.cr = b == '\r'
		switch {
		case second:
		case b != '\n' && b != '\r':
			started = true
			line++
		case line == 0 && started:
			return event, nil
		default:
			line = 0
		}
	}
}
