package wire

import (
	"errors"
	"sync"

	"assay.kit/spec"
)

var errEmpty = errors.New("the body is empty")

// decoder keeps the last few decoded exchanges, because every rule looks at the same one in turn
// and decoding costs more than all of them. An entry holds on to the body, so its address cannot
// come to mean another one.
type decoder struct {
	mu   sync.Mutex
	ring [8]*view
	next int
}

func (d *decoder) view(c *spec.Contract, ex Exchange) *view {
	body := ex.Body()
	d.mu.Lock()
	for _, v := range d.ring {
		if v != nil && v.c == c && sameExchange(v, ex, body) {
			d.mu.Unlock()
			return v
		}
	}
	d.mu.Unlock()
	v := &view{Exchange: ex, c: c, op: DocumentedOperation(c, ex), body: body}
	v.answer = answerOf(v.op, ex.Head.Status)
	v.value, v.err = decodeBody(body)
	if len(ex.Events) == 1 && len(body) > 0 {
		d.mu.Lock()
		d.ring[d.next] = v
		d.next = (d.next + 1) % len(d.ring)
		d.mu.Unlock()
	}
	return v
}

// sameExchange compares identity, not content: the same answer bytes and the same request.
func sameExchange(v *view, ex Exchange, body []byte) bool {
	return len(body) > 0 && len(v.body) == len(body) && &v.body[0] == &body[0] &&
		v.Head.Status == ex.Head.Status && v.Req.Method == ex.Req.Method && v.Req.Target == ex.Req.Target &&
		len(v.Head.Fields) == len(ex.Head.Fields) && (len(ex.Head.Fields) == 0 || &v.Head.Fields[0] == &ex.Head.Fields[0])
}
