package target

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// proxy stands between us and the target: https goes through a tunnel (CONNECT, RFC 9110 §9.3.6),
// http is forwarded (RFC 9112 §3.2.2).
type proxy struct {
	addr string // host:port
	auth Secret // value of Proxy-Authorization; zero: none
}

// proxy reads the URL of a proxy. What is wrong with it is said without quoting it: it may hold a password.
func (r *reader) proxy(n *yaml.Node) Secret {
	before := len(r.errs)
	s := r.text(n, "proxy")
	if len(r.errs) > before {
		return Secret{}
	}
	if _, err := parseProxy(s); err != nil {
		r.fail(n, "proxy: %v", err)
		return Secret{}
	}
	out := NewSecret(s)
	if strings.Contains(n.Value, "${") {
		out.source = n.Value
	}
	return out
}

func parseProxy(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errProxy
	case u.Scheme != "http":
		return nil, fmt.Errorf("its scheme is %q, not http", u.Scheme)
	case u.Hostname() == "":
		return nil, errProxy
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("it has a path, query or fragment; %w", errProxy)
	}
	return u, nil
}

// proxyFor is the proxy for a target host, nil if it is reached directly: what runs on this machine
// is never asked for elsewhere.
func proxyFor(s Secret, host string) (*proxy, error) {
	if s.IsZero() || isLoopback(host) {
		return nil, nil
	}
	u, err := parseProxy(s.Reveal())
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &proxy{addr: address(u)}
	if u.User != nil {
		p.auth = NewSecret("Basic " + base64.StdEncoding.EncodeToString([]byte(userPassword(u))))
	}
	return p, nil
}

func userPassword(u *url.URL) string {
	password, _ := u.User.Password()
	return u.User.Username() + ":" + password
}

// proxySecrets are what a report must not show of a proxy: its URL, and its password in every form.
func proxySecrets(s Secret) []Secret {
	u, err := parseProxy(s.Reveal())
	if s.IsZero() || err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	return []Secret{s, NewSecret(password), NewSecret(userPassword(u))}
}

// forwarded reports whether requests go to a proxy as they are, without a tunnel.
func (s *site) forwarded() bool { return s.proxy != nil && s.tls == nil }

// dial opens a connection to the target, or to the proxy, through its tunnel if TLS follows.
func (s *site) dial(ctx context.Context, maxHead int) (net.Conn, error) {
	if s.proxy == nil {
		nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
		if err != nil {
			return nil, fmt.Errorf("no connection to %s: %w", s.addr, err)
		}
		return nc, nil
	}
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.proxy.addr)
	if err != nil {
		return nil, fmt.Errorf("no connection to the proxy %s: %w", s.proxy.addr, err)
	}
	if s.tls == nil {
		return nc, nil
	}
	if err := s.tunnel(ctx, nc, maxHead); err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("no tunnel to %s through the proxy %s: %w", s.addr, s.proxy.addr, err)
	}
	return nc, nil
}

// tunnel asks the proxy to pass on what follows.
func (s *site) tunnel(ctx context.Context, nc net.Conn, maxHead int) error {
	deadline, _ := ctx.Deadline()
	if err := nc.SetDeadline(deadline); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	auth := ""
	if !s.proxy.auth.IsZero() {
		auth = "Proxy-Authorization: " + s.proxy.auth.Reveal() + "\r\n"
	}
	if _, err := fmt.Fprintf(nc, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", s.addr, s.addr, auth); err != nil {
		return err
	}
	// The server waits for our TLS greeting, so nothing but the proxy's answer can be in the buffer.
	br := bufio.NewReader(nc)
	head, err := readHead(br, maxHead)
	switch {
	case err != nil:
		return err
	case head.Status < 200 || head.Status > 299:
		return fmt.Errorf("it answered %d", head.Status)
	case br.Buffered() > 0:
		return garbage("bytes after its answer to CONNECT")
	}
	return nil
}
