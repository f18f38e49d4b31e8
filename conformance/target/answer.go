package target

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay.kit/conformance/wire"
)

var errOversize = errors.New("the answer is larger than the bound")

// garbageError says that what arrived is not HTTP/1.x.
type garbageError struct{ what string }

func (e *garbageError) Error() string { return "not HTTP: " + e.what }

func garbage(format string, args ...any) error { return &garbageError{fmt.Sprintf(format, args...)} }

// readHead reads a status line and header lines as they are (RFC 9112 §4, §5), at most limit bytes.
func readHead(br *bufio.Reader, limit int) (wire.Head, error) {
	var h wire.Head
	line, err := readLine(br, &limit)
	if err != nil {
		return h, err
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if !strings.HasPrefix(proto, "HTTP/1.") || len(proto) != 8 || len(code) != 3 || err != nil || status < 100 {
		return h, garbage("the first line is %.40q", line)
	}
	h.Proto, h.Status = proto, status
	for {
		line, err := readLine(br, &limit)
		if err != nil {
			return wire.Head{}, err
		}
		if line == "" {
			return h, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return wire.Head{}, garbage("a header line is %.40q", line)
		}
		h.Fields = append(h.Fields, wire.Field{Name: name, Value: strings.Trim(value, " \t")})
	}
}

// readLine reads up to LF, without CRLF or LF, and takes its length off limit.
func readLine(br *bufio.Reader, limit *int) (string, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if *limit -= len(part); *limit < 0 {
			return "", fmt.Errorf("head: %w", errOversize)
		}
		line = append(line, part...)
		if err == nil {
			return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}

// framing says where the body ends (RFC 9112 §6.3).
type framing struct {
	length  int64 // -1: until the connection ends
	chunked bool
	reuse   bool
}

func framingOf(method string, h wire.Head) (framing, error) {
	f := framing{length: -1, reuse: h.Proto == "HTTP/1.1"}
	lengths := map[string]bool{}
	encoding := ""
	for _, field := range h.Fields {
		switch strings.ToLower(field.Name) {
		case "connection":
			for _, option := range strings.Split(field.Value, ",") {
				f.reuse = f.reuse && !strings.EqualFold(strings.TrimSpace(option), "close")
			}
		case "content-length":
			lengths[field.Value] = true
		case "transfer-encoding":
			encoding = strings.ToLower(strings.TrimSpace(encoding + " " + field.Value))
		}
	}
	switch {
	case method == "HEAD", h.Status == 204, h.Status == 304:
		f.length = 0
		return f, nil
	case h.Status == 101:
		f.length, f.reuse = 0, false
		return f, nil
	case encoding == "chunked":
		f.chunked = true
		f.reuse = f.reuse && len(lengths) == 0
		return f, nil
	case encoding != "":
		return f, garbage("transfer encoding %.40q was not asked for", encoding)
	case len(lengths) > 1:
		return f, garbage("several different Content-Length")
	}
	for text := range lengths {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || text[0] == '+' {
			return f, garbage("Content-Length %.40q", text)
		}
		f.length = n
		return f, nil
	}
	f.reuse = false
	return f, nil
}

// read reads the body, at most limit bytes; what arrived comes back with the error too.
func (f framing) read(br *bufio.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(f.source(br), limit+1))
	switch {
	case int64(len(body)) > limit:
		return body[:limit], fmt.Errorf("body: %w", errOversize)
	case err != nil:
		return body, chunkError(err)
	case f.chunked:
		return body, readTrailer(br)
	case f.length >= 0 && int64(len(body)) < f.length:
		return body, io.ErrUnexpectedEOF
	}
	return body, nil
}

// chunkError tells a broken encoding from a broken connection: the chunked reader has no error types.
func chunkError(err error) error {
	if s := err.Error(); strings.Contains(s, "chunk") || strings.Contains(s, "line too long") {
		return garbage("%v", err)
	}
	return err
}

func readTrailer(br *bufio.Reader) error {
	limit := 8 << 10
	for {
		line, err := readLine(br, &limit)
		if err != nil || line == "" {
			return err
		}
	}
}
