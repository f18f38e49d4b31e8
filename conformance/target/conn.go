package target

import (
	"bufio"
	"net"
	"sync"
	"time"
)

// reusable bounds how long a connection may lie idle. Servers drop idle ones after some seconds; a
// request that meets that moment would look like a lost answer, and it must not be sent again.
const reusable = 2 * time.Second

// conn is one connection with exactly one reader at a time.
type conn struct {
	net.Conn
	br    *bufio.Reader
	idle  time.Time
	first chan error // while idle and until its first byte is waited for: what the watcher saw
}

func newConn(nc net.Conn, head int) *conn {
	return &conn{Conn: nc, br: bufio.NewReaderSize(nc, min(head, 4<<10))}
}

// watch reads ahead for the next byte: on an idle connection that is its end, after a request it
// is the answer. It ends when the byte, an error or the read deadline comes.
func (c *conn) watch() {
	c.first = make(chan error, 1)
	go func() {
		_, err := c.br.Peek(1)
		c.first <- err
	}()
}

// await waits for the answer's first byte.
func (c *conn) await() error {
	if c.first == nil {
		_, err := c.br.Peek(1)
		return err
	}
	err := <-c.first
	c.first = nil
	return err
}

// pool keeps idle connections, the newest first. Whoever takes one owns it.
type pool struct {
	mu   sync.Mutex
	max  int
	idle []*conn
}

func newPool(limit int) *pool { return &pool{max: limit} }

// take returns a connection that is not known to be dead, nil if there is none.
func (p *pool) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if len(c.first) == 0 && time.Since(c.idle) < reusable {
			return c
		}
		_ = c.Close() // ends the watcher too
	}
	return nil
}

// put gives a connection back after a whole answer. Left-over bytes would be taken for the next answer.
func (p *pool) put(c *conn) {
	if c.br.Buffered() > 0 || c.SetDeadline(time.Time{}) != nil {
		_ = c.Close()
		return
	}
	c.idle = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= p.max {
		_ = c.Close()
		return
	}
	c.watch()
	p.idle = append(p.idle, c)
}

func (p *pool) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.Close()
	}
	p.idle = nil
}
