package dashtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// patience limits how long a page may take on a busy machine.
const patience = 90 * time.Second

// browser is a tab, together with the complaints of its pages.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // a tab is a context, of chromedp

	static bool // scripts of pages are off

	mu         sync.Mutex
	complaints []string
}

// newBrowser opens a tab. Every console message, exception or issue fails the test, unless the test
// expects it with hears.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := openBrowser(t)
	t.Cleanup(func() { require.Empty(t, b.said(), "the console has to stay silent") })
	return b
}

// foreign is the host of an attacker, which resolves to this machine.
const foreign = "evil.test"

// chromium is the one browser process for all tests that run in parallel. Each test has its own profile.
var chromium struct {
	sync.Mutex

	users int
	ctx   context.Context //nolint:containedctx // a browser is a context, of chromedp
	stop  func()
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := testenv.Chromium(t)
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.users == 0 {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
			chromedp.WindowSize(1100, 800), chromedp.Flag("disable-dev-shm-usage", true),
			chromedp.Flag("host-resolver-rules", "MAP "+foreign+" 127.0.0.1"))
		all, free := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
		started, cancel := chromedp.NewContext(all)
		chromium.ctx = started //nolint:fatcontext // the next one only after this one has ended
		chromium.stop = func() { cancel(); free() }
		require.NoError(t, chromedp.Do(started))
	}
	chromium.users++
	t.Cleanup(func() {
		chromium.Lock()
		defer chromium.Unlock()
		if chromium.users--; chromium.users == 0 {
			chromium.stop()
		}
	})
	b := &browser{t: t}
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.ctx = ctx
	require.NoError(t, chromedp.Do(ctx)) // the tab lives as long as the context of its first use
	b.call(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, audits.Enable, cdp.Empty{})
		return err
	})
	return b
}

func (b *browser) listen(event any) {
	var text string
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		text = fmt.Sprintf("console.%s: %v", e.Type, e.Args)
	case *runtime.EventExceptionThrown:
		text = fmt.Sprintf("exception: %+v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		if strings.HasPrefix(e.Entry.Text, "Autofocus processing was blocked because a document already has a focused element") {
			return // the test has typed, or clicked, before the page could choose: so may a visitor
		}
		text = fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		text = "dialog: " + e.Message
	case *audits.EventIssueAdded:
		text = fmt.Sprintf("issue: %s", e.Issue.Code)
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, text)
}

func (b *browser) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.complaints
}

// hears waits until each of the texts occurs in a complaint, and removes the complaints with these texts.
// An attack or a refusal causes them on purpose.
func (b *browser) hears(texts ...string) {
	b.t.Helper()
	missing := slices.Clone(texts)
	require.Eventually(b.t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complaints = slices.DeleteFunc(b.complaints, func(complaint string) bool {
			has := func(text string) bool { return strings.Contains(complaint, text) }
			missing = slices.DeleteFunc(missing, has)
			return slices.ContainsFunc(texts, has)
		})
		return len(missing) == 0
	}, patience, patience/1000, "%q is missing in %q", missing, b.said())
}

// call runs a DevTools command for the tab.
func (b *browser) call(f func(ctx context.Context, target *chromedp.Target) error) {
	b.t.Helper()
	b.do(chromedp.Func(f))
}

// do runs steps, with patience as their limit.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...), strings.Join(b.said(), "\n"))
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

// await returns the value that a JavaScript promise resolves to.
func await[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return v
}

// open navigates to a page.
func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url), chromedp.WaitVisible("main h1"))
}

// until waits until an expression is true, also on a page that is loaded in the meantime.
func (b *browser) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience)))
		if err == nil {
			return
		}
		// A page that goes takes the question along.
		require.NoError(b.t, ctx.Err(), "%s: %v: %s", expression, err, strings.Join(b.said(), "\n"))
	}
}

// comesTo waits until the figures on a page make an expression true. Without scripts the page does not
// update itself, so comesTo reloads it.
func (b *browser) comesTo(expression string) {
	b.t.Helper()
	if !b.static {
		b.until(expression)
		return
	}
	for began := time.Now(); !eval[bool](b, expression); {
		require.Less(b.t, time.Since(began), patience, expression)
		b.do(chromedp.Reload(), chromedp.WaitVisible("main h1"))
	}
}

// text returns all text that the page shows.
func (b *browser) text() string { return eval[string](b, "document.body.innerText") }

// scheme switches pages to light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.call(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: name},
				{Name: "prefers-reduced-motion", Value: "reduce"}, // colours are there at once
			},
		})
		return err
	})
}

// withoutScripts turns off JavaScript in pages.
func (b *browser) withoutScripts() {
	b.t.Helper()
	b.static = true
	b.call(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
}
