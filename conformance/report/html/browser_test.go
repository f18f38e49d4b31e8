//go:build browser

package html_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.kit/conformance/report"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser starts one headless browser with a profile of its own; each page gets a tab.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("neither chromium nor google-chrome is on PATH: `make test-browser` installs one on Debian")
	}
	opts := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true)}
	if os.Geteuid() == 0 { // the sandbox refuses to run as root
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return ctx
}

// tab is one page that was opened from a file, and what went wrong in it.
type tab struct {
	t        *testing.T
	ctx      context.Context
	address  string
	mu       sync.Mutex
	troubles []string
}

// open writes a report to a file and opens it. The page may load nothing but itself and log no error.
func open(t *testing.T, browser context.Context, r *report.Report, hash string) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(render(t, r)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, address: (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()}
	p.must(chromedp.Do(ctx))
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	p.ctx = ctx
	p.must(chromedp.Listen(ctx, p.hear))
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	p.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate(p.address+hash))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, trouble := range p.troubles {
			t.Error(trouble)
		}
	})
	return p
}

func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if before, _, _ := strings.Cut(e.Request.URL, "#"); before != p.address && e.Request.URL != "data:," {
			p.troubles = append(p.troubles, "the page loads "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.troubles = append(p.troubles, "the script throws: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			p.troubles = append(p.troubles, fmt.Sprintf("console %s", e.Type))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.troubles = append(p.troubles, "console: "+e.Entry.Text)
		}
	}
}

func (p *tab) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.must(chromedp.Do(p.ctx, steps...))
}

// eval gives the value of an expression; a promise is awaited.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits for a condition, as the script draws in frames.
func (p *tab) until(condition string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		p.t.Fatalf("never true: %s: %v", condition, err)
	}
}

// visible counts what matches and can be seen.
func (p *tab) visible(selector string) int {
	p.t.Helper()
	return eval[int](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).length`, selector))
}

func TestBrowser(t *testing.T) {
	ctx := browser(t)
	for _, c := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"opens", opens}, {"filters", filters}, {"keeps the filter in the address", keepsFilter}, {"goes to what is linked", follows},
		{"copies", copies}, {"copies without a clipboard", copiesByHand}, {"changes the theme", themes}, {"is reachable by keyboard", keyboard},
		{"prints", prints}, {"is whole without scripts", scriptless}, {"fits a telephone", fits}, {"is accessible", accessible}, {"opens large reports", large},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, ctx) })
	}
}

func opens(t *testing.T, ctx context.Context) {
	for name, r := range map[string]*report.Report{"one of everything": sample(), "nothing found": none(), "empty": {}} {
		p := open(t, ctx, r, "")
		if title := eval[string](p, `document.title`); !strings.Contains(title, r.Contract.Name) {
			t.Errorf("%s: the title is %q", name, title)
		}
		if n := p.visible("h1"); n != 1 {
			t.Errorf("%s: %d headings of level 1 are visible", name, n)
		}
	}
}

func filters(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "")
	expect := func(step string, rows, findings, cells int) {
		t.Helper()
		if a, b, c := p.visible(".rows tr[data-v]"), p.visible(".finding"), p.visible(".cell"); a != rows || b != findings || c != cells {
			t.Errorf("%s: %d rows, %d findings and %d cells, want %d, %d and %d", step, a, b, c, rows, findings, cells)
		}
	}
	expect("at first", 8, 4, 8)
	p.do(chromedp.Click(`[data-filter="fail"]`))
	expect("fail", 2, 3, 2)
	if pressed := eval[string](p, `[...document.querySelectorAll('[aria-pressed="true"][data-filter]')].map((b) => b.dataset.filter).join()`); pressed != "fail" {
		t.Errorf("pressed: %s", pressed)
	}
	if text := eval[string](p, `document.getElementById('shown').textContent`); text != "2 of 8 requirements, 3 of 4 findings, 2 of 4 cases" {
		t.Errorf("the count says %q", text)
	}
	p.typeOver("createdraft")
	p.until(`document.getElementById('shown').textContent.startsWith('0 of 8')`)
	expect("fail and text", 0, 1, 0)
	p.do(chromedp.Click(`[data-filter="fail"]`))
	expect("text", 0, 1, 0)
	p.typeOver("idem-0")
	p.until(`document.getElementById('shown').textContent.startsWith('3 of 8')`)
	expect("another text", 3, 4, 3)
	p.do(chromedp.Click(`[data-filter=""]`))
	p.typeOver("\b")
	p.until(`document.getElementById('shown').textContent.startsWith('8 req')`)
	expect("all", 8, 4, 8)
}

// typeOver replaces the text of the filter.
func (p *tab) typeOver(keys string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](`(() => { const e = document.getElementById('text'); e.focus(); e.select(); })()`), chromedp.KeyEvent(keys))
}

func keepsFilter(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "#v=warn&q=null")
	if n := p.visible(".finding"); n != 1 {
		t.Errorf("%d findings are visible, want 1", n)
	}
	if v := eval[string](p, `document.getElementById('text').value`); v != "null" {
		t.Errorf("the text is %q", v)
	}
	p.do(chromedp.Click(`[data-filter="fail"]`))
	if hash := eval[string](p, `location.hash`); hash != "#v=fail&q=null" {
		t.Errorf("the address has %q", hash)
	}
	odd := open(t, ctx, sample(), "#v=nonsense&q=%00%ff&at=%3Cimg%3E")
	if n := odd.visible(".filter"); n != 1 {
		t.Error("an odd address breaks the page")
	}
}

func follows(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "#v=warn")
	p.do(chromedp.Evaluate[chromedp.Void](`location.hash = '#f-3-4'`))
	p.until(`document.getElementById('f-3-4').open && document.getElementById('f-3').open`)
	if n := p.visible("#f-3-4 .said"); n != 1 {
		t.Error("a link to an exchange does not open it")
	}
	p.do(chromedp.Click(`.cell[href="#r-NOTES-AUTH-01"]`))
	if id := eval[string](p, `document.activeElement.id`); id != "r-NOTES-AUTH-01" {
		t.Errorf("the focus is on %q", id)
	}
	p.do(chromedp.Click(`#f-3 .lane [data-to="f-3-2"]`))
	p.until(`document.getElementById('f-3-2').open`)
}

// pasted reads the clipboard by pasting it, as a user would.
func pasted(p *tab) string {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](`(() => { const a = document.createElement('textarea'); a.id = 'paste'; document.body.prepend(a); a.focus(); })()`))
	call(p, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "keyDown", Commands: []string{"paste"}})
	p.until(`document.getElementById('paste').value !== ''`)
	return eval[string](p, `document.getElementById('paste').value`)
}

func copies(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "")
	p.do(chromedp.Click(`#f-1 > .told > .copy [data-copy]`))
	p.until(`document.getElementById('said').textContent === 'Copied'`)
	if got, want := pasted(p), sample().Findings[0].Curl[1]; got != want {
		t.Errorf("the clipboard has %q, want %q", got, want)
	}
}

func copiesByHand(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "")
	p.do(chromedp.Evaluate[chromedp.Void](`Object.defineProperty(navigator, 'clipboard', { value: undefined })`),
		chromedp.Click(`#f-1 > .told > .copy:last-child [data-copy]`))
	p.until(`document.getElementById('said').textContent === 'Copied'`)
	if got, want := pasted(p), "assay replay report.json idempotency.sequential@createNote"; got != want {
		t.Errorf("the clipboard has %q, want %q", got, want)
	}
}

func (p *tab) prefer(scheme string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

func themes(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "")
	paper := func() string { return eval[string](p, `getComputedStyle(document.body).backgroundColor`) }
	p.prefer("light")
	light := paper()
	p.prefer("dark")
	dark := paper()
	if light == dark {
		t.Errorf("the page is %s in both themes", light)
	}
	p.do(chromedp.Click("#theme"))
	if got := paper(); got != light {
		t.Errorf("after the button the page is %s, want %s", got, light)
	}
	if pressed := eval[string](p, `document.getElementById('theme').getAttribute('aria-pressed')`); pressed != "false" {
		t.Errorf("aria-pressed = %s in the light theme", pressed)
	}
	p.do(chromedp.Reload())
	if got := paper(); got != light {
		t.Error("the theme is forgotten when the page is loaded again")
	}
	p.do(chromedp.Evaluate[chromedp.Void](`localStorage.clear()`))
}

// keyboard goes through the page by Tab: the link that skips first, then every control, each with a
// mark of the focus.
func keyboard(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "")
	seen := map[string]bool{}
	for i := range 60 {
		p.do(chromedp.KeyEvent("\t"))
		at := eval[string](p, `(() => { const e = document.activeElement; return e.className + '|' + e.tagName + '|' + e.id + '|' + getComputedStyle(e).outlineStyle; })()`)
		if i == 0 && !strings.HasPrefix(at, "skip|A") {
			t.Errorf("the first stop is %s", at)
		}
		if parts := strings.Split(at, "|"); parts[3] == "none" && parts[1] != "BODY" {
			t.Errorf("no mark of the focus on %s", at)
		}
		seen[strings.Split(at, "|")[1]] = true
	}
	for _, tag := range []string{"A", "BUTTON", "INPUT", "SUMMARY"} {
		if !seen[tag] {
			t.Errorf("Tab reaches no %s", tag)
		}
	}
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('#f-2 > summary').focus()`), chromedp.KeyEvent("\r"))
	p.until(`document.getElementById('f-2').open`)
}

func prints(t *testing.T, ctx context.Context) {
	r := sample()
	p := open(t, ctx, r, "")
	closed := eval[int](p, `document.querySelectorAll('details:not([open])').length`)
	pdf, err := chromedp.Run(p.ctx, chromedp.PrintToPDF())
	p.must(err)
	if !strings.HasPrefix(string(pdf), "%PDF-") || len(pdf) < 20_000 {
		t.Errorf("the PDF has %d bytes and begins with %.8q", len(pdf), pdf)
	}
	if after := eval[int](p, `document.querySelectorAll('details:not([open])').length`); after != closed {
		t.Errorf("%d parts are closed after printing, %d before", after, closed)
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	text := eval[string](p, `document.body.innerText.replace(/\s+/g, ' ')`)
	for _, f := range r.Findings {
		for _, want := range append([]string{f.Claim, f.Case, f.Message}, f.Curl...) {
			if want = strings.Join(strings.Fields(want), " "); !strings.Contains(text, want) {
				t.Errorf("not in print: %s", want)
			}
		}
	}
	if n := p.visible("details .told"); n != len(r.Findings) {
		t.Errorf("%d findings are open in print, want %d", n, len(r.Findings))
	}
	if n := p.visible("button, .filter"); n != 0 {
		t.Errorf("%d controls are printed", n)
	}
}

func scriptless(t *testing.T, ctx context.Context) {
	p := open(t, ctx, sample(), "")
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.do(chromedp.Reload())
	if n := p.visible("button, .filter"); n != 0 {
		t.Errorf("%d controls are shown that do nothing", n)
	}
	if n := p.visible(".tally li"); n != 6 {
		t.Errorf("%d counts are shown, want 6", n)
	}
	p.do(chromedp.Click("#f-2 > summary"))
	if n := p.visible("#f-2 .told"); n != 1 {
		t.Error("a finding does not open")
	}
}

func fits(t *testing.T, ctx context.Context) {
	r := sample()
	r.Target = "https://" + strings.Repeat("long", 60) + ".example"
	r.Requirements[0].ID = strings.Repeat("LONG", 40) + "-01"
	r.Findings[1].Actual = strings.Repeat("x", 3000)
	p := open(t, ctx, r, "")
	for _, width := range []int64{320, 400, 1280} {
		p.do(chromedp.EmulateViewport(width, 900), chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('details').forEach((d) => { d.open = true; })`))
		if over := eval[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("at %d pixels the page is %d too wide: %s", width, over, eval[string](p, `[...document.querySelectorAll('body *')]
				.filter((e) => e.getBoundingClientRect().right > innerWidth).slice(0, 5).map((e) => e.outerHTML.slice(0, 100)).join(' | ')`))
		}
	}
}

// accessible runs axe-core over everything opened, in both themes, on a desk and on a telephone.
func accessible(t *testing.T, ctx context.Context) {
	path := os.Getenv("AXE_CORE")
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("AXE_CORE must be the path of axe.min.js (`make test-browser` gets it): %v", err)
	}
	for _, r := range []*report.Report{sample(), none()} {
		p := open(t, ctx, r, "")
		p.do(chromedp.Evaluate[chromedp.Void](string(axe)),
			chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('details').forEach((d) => { d.open = true; })`))
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 400} {
				p.prefer(scheme)
				p.do(chromedp.EmulateViewport(width, 900))
				found := eval[string](p, `axe.run(document, { runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] } })
					.then((r) => JSON.stringify({ passes: r.passes.length, violations: r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' / ')) }))`)
				var result struct {
					Passes     int
					Violations []string
				}
				p.must(json.Unmarshal([]byte(found), &result))
				for _, v := range result.Violations {
					t.Errorf("%s at %d pixels: %s", scheme, width, v)
				}
				if result.Passes < 20 {
					t.Errorf("%s at %d pixels: only %d rules passed: did axe look at the page?", scheme, width, result.Passes)
				}
			}
		}
	}
}

func large(t *testing.T, ctx context.Context) {
	p := open(t, ctx, many(200, 20_000), "")
	ms := eval[float64](p, `performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd`)
	t.Logf("200 findings and 20000 cases are ready after %.0f ms", ms)
	if ms > 20_000 {
		t.Errorf("the page takes %.0f ms to be ready", ms)
	}
	p.do(chromedp.SendKeys("#text", "createnote-199"))
	p.until(`document.getElementById('shown').textContent.includes('of 20000 cases')`)
}

func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	r, err := chromedp.Call(p.ctx, command, params)
	p.must(err)
	return r
}
