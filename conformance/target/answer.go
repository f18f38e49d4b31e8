package target

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"assay.kit/conformance/wire"
)

var errOversize = errors.New("larger than this kit reads")

// maxInterim bounds the interim answers before one: they cost a server nothing and would go on for ever.
const maxInterim = 32

// garbageError says that what arrived is not HTTP/1.x.
type garbageError struct{ what string }

func (e *garbageError) Error() string { return "not HTTP: " + e.what }

func garbage(format string, args ...any) error { return &garbageError{fmt.Sprintf(format, args...)} }

// readAnswer reads the head of the final answer, past interim ones (RFC 9110 §15.2).
func readAnswer(br *bufio.Reader, limit int) (wire.Head, error) {
	for range maxInterim + 1 {
		h, err := readHead(br, limit)
		if err != nil || h.Status >= 200 || h.Status == 101 {
			return h, err
		}
	}
	return wire.Head{}, garbage("more than %d interim answers and no final one", maxInterim)
}

// readHead reads a status line and header lines as they are (RFC 9112 §4, §5), at most limit bytes.
func readHead(br *bufio.Reader, limit int) (wire.Head, error) {
	h, most := wire.Head{}, limit
	line, err := readLine(br, &limit)
	if err != nil {
		if line != "" && !strings.HasPrefix("HTTP/1.", line[:min(len(line), 7)]) {
			return h, garbage("the first line is %.40q", line)
		}
		return h, sized("head", most, err)
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
			return wire.Head{}, sized("head", most, err)
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

// readLine reads up to LF, without CRLF or LF, and takes its length off limit. What had come before an
// error comes back with it.
func readLine(br *bufio.Reader, limit *int) (string, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if *limit -= len(part); *limit < 0 {
			return "", errOversize
		}
		line = append(line, part...)
		if err == nil {
			return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
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

// read reads the body, at most limit bytes, and calls enter before it reads more than the beginning;
// what arrived comes back with the error too.
func (f framing) read(br *bufio.Reader, limit int64, enter func() error) ([]byte, error) {
	src := &gate{Reader: f.source(br), free: maxBroken, enter: enter}
	body, err := readUpTo(src, limit, f.length)
	switch {
	case int64(len(body)) > limit:
		return body[:limit], sized("body", int(limit), errOversize)
	case err != nil:
		return body, chunkError(err)
	case f.chunked:
		return body, readTrailer(br)
	case f.length >= 0 && int64(len(body)) < f.length:
		return body, io.ErrUnexpectedEOF
	}
	return body, nil
}

// readUpTo reads to the end, or one byte more than limit. A length that was announced is no reason
// to set so much aside before it has come.
func readUpTo(src io.Reader, limit, announced int64) ([]byte, error) {
	var b bytes.Buffer
	if announced > 0 {
		b.Grow(int(min(announced, 64<<10)) + bytes.MinRead) // ReadFrom wants room to see the end
	}
	_, err := b.ReadFrom(io.LimitReader(src, limit+1))
	return b.Bytes(), err
}

// sized says in an error about size what was too large, and the bound.
func sized(what string, limit int, err error) error {
	if errors.Is(err, errOversize) {
		return fmt.Errorf("the %s of the answer is %w: %d KiB", what, errOversize, limit>>10)
	}
	return err
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
			return sized("trailer", 8<<10, err)
		}
	}
}
