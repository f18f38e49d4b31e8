package target

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/conformance/wire"
)

func get(r *REST) wire.Exchange {
	return r.Do(context.Background(), "primary", wire.Request{Method: "GET", Target: "/x?q=1"}, Call{})
}

// clientPair writes a certificate of its own and its key, and returns the files.
func clientPair(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the client"}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	key = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return writeCA(t, der), key, pool
}

// quiet is a TLS server that says nothing about handshakes that fail on purpose.
func quiet(t *testing.T, c *tls.Config, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = c
	s.Config.ErrorLog = discardLog()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestClientCertificate(t *testing.T) {
	cert, key, pool := clientPair(t)
	s := quiet(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}, func(w http.ResponseWriter, rq *http.Request) {
		_, _ = io.WriteString(w, rq.TLS.PeerCertificates[0].Subject.CommonName)
	})
	p := profileFor(s.URL)
	p.TLS = TLS{CA: writeCA(t, s.Certificate().Raw)}
	if ex := get(caller(t, p, Options{})); ex.Head.Status != 0 {
		t.Errorf("without a certificate: %+v", ex.Head)
	}
	p.TLS.Cert, p.TLS.Key = cert, key
	if ex := get(caller(t, p, Options{})); string(ex.Body()) != "the client" {
		t.Errorf("%s %s", ex.Err, ex.Body())
	}
}

func TestInsecureOnlyOnLoopback(t *testing.T) {
	s := quiet(t, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	p := profileFor(s.URL)
	if ex := get(caller(t, p, Options{})); ex.End != wire.EndRefused || !strings.Contains(ex.Err, "no TLS connection") {
		t.Errorf("a stranger's certificate: %s %s", ex.End, ex.Err)
	}
	p.TLS.Insecure = true
	if ex := get(caller(t, p, Options{})); string(ex.Body()) != "here" {
		t.Errorf("%s %s", ex.End, ex.Err)
	}
	p.BaseURL = "https://api.example"
	if _, err := New(p, Options{}); err == nil || !strings.Contains(err.Error(), "tls.insecure is only for a target on loopback, not for api.example") {
		t.Errorf("%v", err)
	}
}

// A file that is wrong is named with the line that names it, before anything is sent.
func TestTrustErrorsHaveALine(t *testing.T) {
	dir := t.TempDir()
	noPEM := filepath.Join(dir, "no.pem")
	if err := os.WriteFile(noPEM, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		"tls: {ca: " + dir + "/none.pem}":                          ":2: tls.ca cannot be read",
		"tls: {ca: " + noPEM + "}":                                 ":2: tls.ca: " + noPEM + " holds no PEM certificate",
		"tls: {cert: " + noPEM + ", key: " + noPEM + "}":           ":2: tls.cert and tls.key do not load",
		"tls: {insecure: true}":                                    ":2: tls.insecure is only for a target on loopback, not for h.example",
		"tls: {insecure: maybe}":                                   ":2: tls.insecure must be true or false",
		"proxy: socks5://h:1":                                      `:2: proxy: its scheme is "socks5", not http`,
		"proxy: http://user:hunter2@h/path":                        ":2: proxy: it has a path, query or fragment",
		"proxy: 'http://user:hun ter2@h:x'":                        ":2: proxy: it is no URL",
		"proxy: http://":                                           ":2: proxy: it is no URL",
		"credentials: {primary: {bearer: t, refresh: 5m}}":         ":2: credential primary: refresh goes with command",
		"credentials: {primary: {command: [x], refresh: \"-5m\"}}": `:2: credential primary: refresh: "-5m" is no duration`,
	} {
		file := filepath.Join(dir, "p.yaml")
		if err := os.WriteFile(file, []byte("base_url: https://h.example\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file, env())
		if err == nil || !strings.Contains(err.Error(), file+says) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password is in %v", text, err)
		}
	}
}

// relay is a proxy that records how it was asked and passes everything on to one server.
type relay struct {
	url   string
	mu    sync.Mutex
	heads []string
}

func proxyTo(t *testing.T, to string, password string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &relay{url: "http://u:" + url.QueryEscape(password) + "@" + l.Addr().String()}
	var wait sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wait.Wait() })
	wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() { p.serve(c, to, password) })
		}
	})
	return p
}

func (p *relay) serve(c net.Conn, to, password string) {
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	br := bufio.NewReader(c)
	head, ok := readRequest(br)
	if !ok {
		return
	}
	p.mu.Lock()
	p.heads = append(p.heads, head)
	p.mu.Unlock()
	if !strings.Contains(head, "Proxy-Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("u:"+password))+"\r\n") {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return
	}
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = up.Close() }()
	_ = up.SetDeadline(time.Now().Add(10 * time.Second))
	if strings.HasPrefix(head, "CONNECT ") {
		_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	} else {
		_, _ = io.WriteString(up, strings.Replace(head, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
	}
	go func() { _, _ = io.Copy(up, br); _ = up.Close() }() // ends with either connection
	_, _ = io.Copy(c, up)
}

func (p *relay) head() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.heads, "\n")
}

const proxyPassword = "pass-word-of-proxy"

func TestProxyForwardsHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s", rq.Host, rq.URL.Path)
	}))
	defer s.Close()
	px := proxyTo(t, s.Listener.Addr().String(), proxyPassword)
	p := profileFor("http://api.example/v1")
	p.Proxy = NewSecret(px.url)
	ex := get(caller(t, p, Options{}))
	if string(ex.Body()) != "api.example /v1/x" || !strings.HasPrefix(px.head(), "GET http://api.example/v1/x?q=1 HTTP/1.1\r\n") ||
		!strings.Contains(px.head(), "\r\nHost: api.example\r\n") {
		t.Errorf("%s %s %s\n%s", ex.End, ex.Err, ex.Body(), px.head())
	}
	if wire.Lookup(ex.Req.Fields, "Proxy-Authorization") != "" {
		t.Error("the record holds what the proxy was told")
	}
}

func TestProxyTunnelsHTTPS(t *testing.T) {
	s := quiet(t, nil, func(w http.ResponseWriter, rq *http.Request) { _, _ = io.WriteString(w, rq.RequestURI) })
	px := proxyTo(t, s.Listener.Addr().String(), proxyPassword)
	p := profileFor("https://example.com") // a name that the test server's certificate is for
	p.TLS.CA = writeCA(t, s.Certificate().Raw)
	p.Proxy = NewSecret(px.url)
	r := caller(t, p, Options{})
	if ex := get(r); string(ex.Body()) != "/x?q=1" {
		t.Errorf("%s %s", ex.End, ex.Err)
	}
	if h := px.head(); !strings.HasPrefix(h, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nProxy-Authorization: Basic ") ||
		strings.Contains(h, "tok-secret-1") {
		t.Errorf("the proxy was asked: %q", h)
	}
	p.Proxy = NewSecret(strings.Replace(px.url, proxyPassword, "wrong-password", 1))
	ex := get(caller(t, p, Options{}))
	if ex.End != wire.EndRefused || !strings.Contains(ex.Err, "through the proxy") || !strings.Contains(ex.Err, "it answered 407") || strings.Contains(ex.Err, "wrong") {
		t.Errorf("%s %s", ex.End, ex.Err)
	}
}

func TestProxyIsNotForLoopback(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") }))
	defer s.Close()
	p := profileFor(s.URL)
	p.Proxy = NewSecret("http://127.0.0.1:1")
	if ex := get(caller(t, p, Options{})); string(ex.Body()) != "direct" {
		t.Errorf("%s %s", ex.End, ex.Err)
	}
}

// Nothing of a header's value or a proxy's password stays in a record, however it comes back.
func TestNetworkSecretsAreHidden(t *testing.T) {
	p := profileFor("http://api.example")
	p.Proxy = NewSecret("http://u:" + proxyPassword + "@h:1")
	p.Headers = []Header{{Name: "X-Tenant", Value: "tenant-value-1"}, {Name: "X-Short", Value: "en"}}
	basic := base64.StdEncoding.EncodeToString([]byte("u:" + proxyPassword))
	red := NewRedactor(p).Redact(wire.Exchange{Err: proxyPassword,
		Req:    wire.Request{Fields: []wire.Field{{Name: "x-tenant", Value: "tenant-value-1"}, {Name: "X-Short", Value: "en"}, {Name: "Accept", Value: "identity"}}},
		Head:   wire.Head{Status: 200, Fields: []wire.Field{{Name: "Echo", Value: "Basic " + basic}}},
		Events: []wire.Event{{Data: []byte("tenant-value-1 " + proxyPassword + " " + basic)}}})
	text := fmt.Sprintf("%+v %s", red, red.Body())
	for _, s := range []string{"tenant-value-1", proxyPassword, basic} {
		if strings.Contains(text, s) {
			t.Errorf("%s is in %s", s, text)
		}
	}
	if f := red.Req.Fields; f[1].Value != hidden || f[2].Value != "identity" {
		t.Errorf("%v", f)
	}
	var out bytes.Buffer
	p.Proxy.source = "${PROXY}"
	if err := p.Write(&out); err != nil || strings.Contains(out.String(), proxyPassword) || !strings.Contains(out.String(), `proxy: "${PROXY}"`) {
		t.Errorf("%v\n%s", err, out.String())
	}
}
