package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay.kit/conformance/target"
	"assay.kit/conformance/wire"
)

// ErrUnreachable: nothing at the target answered as a server would, so nothing was judged.
var ErrUnreachable = errors.New("target is unreachable")

const (
	probes       = 3 // a connection may break once
	probeTimeout = 10 * time.Second
)

// probe sends one request without effect; any answer at all shows that somebody is there.
func probe(ctx context.Context, o Options, caller *target.REST) error {
	if len(o.Contract.Ops) == 0 { // a target that told its own list of tools has been there a moment ago
		return nil
	}
	rq := wire.Request{Method: "GET", Target: "/"}
	if cn := o.Contract.Doc.Connection; cn != nil {
		if op := o.Contract.Op(cn.Operation); op != nil {
			rq = wire.Request{Operation: op.ID, Method: op.Method, Target: op.Path}
		}
	}
	var ex wire.Exchange
	for range probes {
		ex = caller.Do(ctx, string(target.Primary), rq, target.Call{Timeout: probeTimeout, FreshConn: true})
		if ex.Head.Status != 0 {
			return nil
		}
		if ex.End != wire.EndReset {
			break
		}
	}
	return fmt.Errorf("%w: %s %s: %s (%s)%s", ErrUnreachable, rq.Method, o.Profile.BaseURL+rq.Target, ex.Err, ex.End, tipFor(ex))
}

// tipFor says what to do about a target that cannot be reached, "" if the reason says it all.
func tipFor(ex wire.Exchange) string {
	has := func(part string) bool { return strings.Contains(ex.Err, part) }
	switch {
	case has("connection refused"):
		return "; is the server running, and is this its port?"
	case has("no such host"):
		return "; check the host's name"
	case has("unknown authority"):
		return "; if the certificate is your own, trust its authority in the profile: tls: {ca: FILE}"
	case has("certificate"):
		return "; the server's certificate does not hold for this address now: renew it, or check the host's name and the clock"
	case has("does not look like a TLS handshake"):
		return "; something answers without TLS there: should base_url start with http://?"
	case ex.End == wire.EndGarbage:
		return "; something answers there, but not with HTTP/1.1: check the port, and whether base_url should start with https://"
	case ex.End == wire.EndTimeout:
		return "; something takes connections there, but does not answer"
	case ex.End == wire.EndOversize:
		return "; something answers there, but with more than any answer has"
	case ex.End == wire.EndReset:
		return "; something takes connections there, and drops them: should base_url start with https://?"
	default:
		return ""
	}
}
