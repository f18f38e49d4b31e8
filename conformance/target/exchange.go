package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"assay.kit/conformance/wire"
)

// atOnce is what every system's send buffer takes without waiting for the peer.
const atOnce = 16 << 10

// exchange writes the request and reads the answer on one connection, and fills in ex. The
// connection is given back or closed.
func (r *REST) exchange(ctx context.Context, to *site, cn *conn, ex *wire.Exchange, c Call) {
	deadline, _ := ctx.Deadline()
	_ = cn.SetDeadline(deadline)
	// A cancelled run must not wait for the deadline of the call.
	stop := context.AfterFunc(ctx, func() { _ = cn.SetDeadline(time.Unix(1, 0)) })
	keep := false
	defer func() {
		if stop() && keep {
			to.pool.put(cn)
			return
		}
		_ = cn.Close()
	}()

	wrote := make(chan error, 1)
	message := to.message(ex.Req)
	send := func() {
		_, err := cn.Write(message)
		wrote <- err
	}
	if len(message) <= atOnce {
		send()
	} else {
		go send() // beside the reading: a server may refuse a large body before it has read it
	}
	if c.Cut == CutAfterWrite {
		err := <-wrote
		ex.Last, ex.End = r.Now(), wire.EndCut
		if err != nil {
			r.ended(ctx, ex, err, wire.EndReset)
		}
		return
	}
	if err := cn.await(); err != nil {
		_ = cn.Close() // frees the writer
		if werr := <-wrote; werr != nil && !errors.Is(werr, net.ErrClosed) {
			err = fmt.Errorf("%w (and writing: %v)", err, werr)
		}
		r.ended(ctx, ex, err, wire.EndReset)
		return
	}
	if c.Cut == CutAfterHead {
		_ = cn.Close()
		<-wrote
		ex.Last, ex.End = r.Now(), wire.EndCut
		return
	}
	reuse := r.answer(ctx, cn, ex, c)
	select {
	case err := <-wrote:
		keep = reuse && err == nil
	default: // answered before the request was read: the connection is of no further use
		_ = cn.Close()
		<-wrote
	}
}

// message is the request as it goes over the wire.
func (s *site) message(rq wire.Request) []byte {
	var b strings.Builder
	b.Grow(512 + len(rq.Body))
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", rq.Method, s.requestTarget(rq.Target))
	line := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	if s.forwarded() && !s.proxy.auth.IsZero() {
		line("Proxy-Authorization", s.proxy.auth.Reveal()) // not among the fields, so that no record holds it
	}
	if !hasField(rq.Fields, "Host") {
		line("Host", s.host)
	}
	for _, f := range rq.Fields {
		line(f.Name, f.Value)
	}
	if rq.Body != nil && !hasField(rq.Fields, "Content-Length") && !hasField(rq.Fields, "Transfer-Encoding") {
		line("Content-Length", strconv.Itoa(len(rq.Body)))
	}
	b.WriteString("\r\n")
	b.Write(rq.Body)
	return []byte(b.String())
}

func (s *site) requestTarget(target string) string {
	if s.prefix == "" && (target == "" || target[0] == '?') {
		target = "/" + target // an origin-form target has a path (RFC 9112 §3.2.1)
	}
	if s.forwarded() {
		return "http://" + s.host + s.prefix + target // absolute-form (RFC 9112 §3.2.2)
	}
	return s.prefix + target
}

// answer reads head and body; it reports whether the connection may carry another request.
func (r *REST) answer(ctx context.Context, cn *conn, ex *wire.Exchange, c Call) (reuse bool) {
	head, err := readAnswer(cn.br, r.opt.MaxHead)
	if err != nil {
		r.ended(ctx, ex, err, wire.EndReset)
		return false
	}
	ex.Head = head
	fr, err := framingOf(ex.Req.Method, head)
	if err != nil {
		r.ended(ctx, ex, err, wire.EndGarbage)
		return false
	}
	if c.Until != nil && isEventStream(head) {
		return r.stream(ctx, cn, ex, fr, c)
	}
	body, err := r.body(ctx, cn, fr)
	if n := len(body); err != nil && n > maxBroken { // nobody judges it, and many lanes may hold one
		ex.Events = []wire.Event{{At: r.Now(), Data: bytes.Clone(body[:maxBroken]), Left: n - maxBroken}}
	} else if n > 0 {
		ex.Events = []wire.Event{{At: r.Now(), Data: body}}
	}
	if err != nil {
		r.ended(ctx, ex, err, wire.EndTruncated)
		return false
	}
	ex.Last, ex.End = r.Now(), wire.EndComplete
	return fr.reuse
}

// maxBroken is how much is kept of a body that is not whole.
const maxBroken = 64 << 10

// body reads an answer's body. Beyond its beginning only a few are read at a time, so that what all
// lanes hold together is bounded too.
func (r *REST) body(ctx context.Context, cn *conn, fr framing) ([]byte, error) {
	entered := false
	defer func() {
		if entered {
			<-r.large
		}
	}()
	return fr.read(cn.br, r.opt.MaxBody, func() error {
		select {
		case r.large <- struct{}{}:
			entered = true
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// gate lets a number of bytes through, and the rest when enter has returned.
type gate struct {
	io.Reader
	free  int
	enter func() error // nil: entered
}

func (g *gate) Read(p []byte) (int, error) {
	if g.enter != nil && g.free <= 0 {
		if err := g.enter(); err != nil {
			return 0, err
		}
		g.enter = nil
	}
	if g.enter != nil {
		p = p[:min(len(p), g.free)]
	}
	n, err := g.Reader.Read(p)
	g.free -= n
	return n, err
}

// ended classifies an error; otherwise is the End of a connection that broke at this point.
func (r *REST) ended(ctx context.Context, ex *wire.Exchange, err error, otherwise wire.End) {
	ex.Last, ex.Err = r.Now(), withoutAddresses(err)
	var garbage *garbageError
	switch {
	case errors.Is(err, errOversize):
		ex.End = wire.EndOversize
	case errors.As(err, &garbage):
		ex.End = wire.EndGarbage
	case errors.Is(ctx.Err(), context.Canceled):
		ex.End = wire.EndCut
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		ex.End, ex.Err = wire.EndTimeout, fmt.Sprintf("it did not come within %s", (ex.Last-ex.Sent).Round(100*time.Millisecond))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		ex.End, ex.Err = otherwise, "the server closed the connection early"
	default:
		ex.End = otherwise
	}
}

// withoutAddresses leaves the addresses out of a connection's error: ports of ours differ each time, and that of
// the target is known.
func withoutAddresses(err error) string {
	text := err.Error()
	var op *net.OpError
	if errors.As(err, &op) {
		text = strings.Replace(text, op.Error(), op.Err.Error(), 1)
	}
	return text
}
