package target

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"
)

// tls reads whom to trust and what to show.
func (r *reader) tls(n *yaml.Node, t *TLS) {
	r.object(n, "tls", []string{"ca", "cert", "key", "insecure"}, map[string]member{
		"ca":       func(v *yaml.Node) { t.CA = r.text(v, "tls.ca") },
		"cert":     func(v *yaml.Node) { t.Cert = r.text(v, "tls.cert") },
		"key":      func(v *yaml.Node) { t.Key = r.text(v, "tls.key") },
		"insecure": func(v *yaml.Node) { t.Insecure = r.flag(v, "tls.insecure") },
	})
	if (t.Cert == "") != (t.Key == "") {
		r.fail(n, "tls: cert and key belong together; give both or neither")
	}
}

// tlsConfig reads the files. A certificate that nobody vouches for is good enough only for a server
// on this machine: elsewhere the token would go to whoever stands in between.
func tlsConfig(t TLS, server string) (*tls.Config, error) {
	c := &tls.Config{ServerName: server, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if t.Insecure {
		if !isLoopback(server) {
			return nil, fmt.Errorf("tls.insecure is only for a target on loopback, not for %s; give its authority in tls.ca", server)
		}
		c.InsecureSkipVerify = true
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca cannot be read: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca: %s holds no PEM certificate", t.CA)
		}
		c.RootCAs = pool
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key do not load: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// isLoopback reports whether a host can only be this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// hostOf is the host of a base URL, "" if it is none.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

var errProxy = errors.New("it is no URL; write http://[user:password@]host[:port]")
