package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const (
	hookTimeout   = 60 * time.Second // a restart takes a while
	maxHookOutput = 64 << 10
)

// RunHook carries out an action of the profile on the target and waits for it. args replace the
// placeholders {name}; an exec hook also finds each as ASSAY_NAME in its environment. The hook's
// own credentials are its own affair: no role's token is sent along.
func (r *REST) RunHook(ctx context.Context, c Capability, args map[string]string) error {
	h, ok := r.profile.Hooks[c]
	if !ok {
		return fmt.Errorf("the profile has no hook %q; add\n%s", c, c.Unlock())
	}
	r.tokens.hooked(c)
	var err error
	if h.HTTP != nil {
		err = h.HTTP.send(ctx, args)
	} else {
		err = runExec(ctx, h.Exec, args)
	}
	if c == Restart {
		r.pool.drop() // they lead to the process that is gone
	}
	if err != nil {
		return fmt.Errorf("hook %s: %s", c, r.redact.Text(err.Error()))
	}
	return nil
}

func runExec(ctx context.Context, argv []string, args map[string]string) error {
	filled := make([]string, len(argv))
	for i, a := range argv {
		s, err := fill(a, args, func(s string) string { return s })
		if err != nil {
			return err
		}
		filled[i] = s
	}
	var env []string
	for _, k := range sortedKeys(args) {
		env = append(env, "ASSAY_"+strings.ToUpper(k)+"="+args[k])
	}
	_, err := run(ctx, filled, env, hookTimeout)
	return err
}

// run executes a command to its end and returns its standard output. Output goes through files: a
// hook may leave a server running that holds on to it, and a pipe would be waited for, or break.
func run(ctx context.Context, argv, env []string, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stdout, err := scratch()
	if err != nil {
		return nil, err
	}
	defer discard(stdout)
	stderr, err := scratch()
	if err != nil {
		return nil, err
	}
	defer discard(stderr)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s did not end within %s", argv[0], timeout)
		}
		// Standard output is not quoted: a credential command prints a token there.
		return nil, fmt.Errorf("%s: %w%s", argv[0], err, lastLine(stderr))
	}
	return head(stdout)
}

func scratch() (*os.File, error) {
	f, err := os.CreateTemp("", "assay-*")
	if err != nil {
		return nil, fmt.Errorf("no place for a command's output: %w", err)
	}
	return f, nil
}

func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

func head(f *os.File) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(f, 0, maxHookOutput))
}

func lastLine(f *os.File) string {
	b, err := head(f)
	b = bytes.TrimSpace(b)
	if err != nil || len(b) == 0 {
		return ""
	}
	return fmt.Sprintf(": %.200s", b[bytes.LastIndexByte(b, '\n')+1:])
}

func (h *HTTPHook) send(ctx context.Context, args map[string]string) error {
	target, err := fill(h.URL, args, url.QueryEscape)
	if err != nil {
		return err
	}
	body, isJSON, err := h.body(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	rq, err := http.NewRequestWithContext(ctx, h.Method, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("its request cannot be built: %w", err)
	}
	if isJSON {
		rq.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{
		// A fresh connection, so that nothing is ever sent twice.
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	rs, err := client.Do(rq)
	if err != nil {
		return err
	}
	defer func() { _ = rs.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(rs.Body, maxHookOutput))
	if rs.StatusCode < 200 || rs.StatusCode > 299 {
		return fmt.Errorf("%s %s answered %d: %.200s", h.Method, target, rs.StatusCode, bytes.TrimSpace(text))
	}
	return nil
}

// body fills the placeholders; a text body takes arguments in JSON's escaping without the quotes.
func (h *HTTPHook) body(args map[string]string) (body []byte, isJSON bool, err error) {
	switch b := h.Body.(type) {
	case nil:
		return nil, false, nil
	case string:
		s, err := fill(b, args, escapeJSON)
		return []byte(s), json.Valid([]byte(s)), err
	default:
		v, err := fillValue(b, args)
		if err != nil {
			return nil, false, err
		}
		body, err := json.Marshal(v)
		return body, true, err
	}
}

func fillValue(v any, args map[string]string) (any, error) {
	switch v := v.(type) {
	case string:
		return fill(v, args, func(s string) string { return s })
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			f, err := fillValue(e, args)
			if err != nil {
				return nil, err
			}
			out[i] = f
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			f, err := fillValue(e, args)
			if err != nil {
				return nil, err
			}
			out[k] = f
		}
		return out, nil
	default:
		return v, nil
	}
}

func escapeJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(b[1 : len(b)-1])
}

// fill replaces {name}; a name without an argument is an error, because the action would be another one.
func fill(s string, args map[string]string, escape func(string) string) (string, error) {
	var missing error
	out := placeholder.ReplaceAllStringFunc(s, func(m string) string {
		v, ok := args[m[1:len(m)-1]]
		if !ok {
			missing = fmt.Errorf("there is no argument for its placeholder %s; it has: %s", m, strings.Join(sortedKeys(args), ", "))
		}
		return escape(v)
	})
	return out, missing
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)
