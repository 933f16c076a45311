package dashtest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// patience is how long a page may take on a busy machine.
const patience = time.Minute

// browser is a tab, and what its pages have complained of.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // a tab is a context, of chromedp

	mu         sync.Mutex
	complaints []string
}

// newBrowser opens Chromium. Any message on its console, exception or issue fails the test.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := openBrowser(t)
	t.Cleanup(func() { require.Empty(t, b.said(), "the console has to stay silent") })
	return b
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := testenv.Chromium(t)
	b := &browser{t: t}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1100, 800), chromedp.Flag("disable-dev-shm-usage", true))
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	b.ctx = ctx
	require.NoError(t, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, audits.Enable, cdp.Empty{})
		return err
	})))
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
		text = fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL)
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

// do runs steps within the patience.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...), strings.Join(b.said(), "\n"))
}

// eval returns what an expression of JavaScript is.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression))
	require.NoError(b.t, err, expression)
}

// text is all that the page shows.
func (b *browser) text() string { return eval[string](b, "document.body.innerText") }

// scheme makes pages light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	}))
}

// withoutScripts turns JavaScript of pages off.
func (b *browser) withoutScripts() {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
}
