package dashtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
)

// A tab that is not seen holds no stream open, since a browser has few connections to a server.
// It has one again when it is looked at, and none after it has gone elsewhere.
func TestHiddenTab(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	watched := func(n int, why string) {
		t.Helper()
		require.Eventually(t, func() bool { return s.watched() == n }, patience, patience/1000, why)
	}
	b.open(s.url)
	watched(1, "a tab that is seen")
	b.window(cdpbrowser.WindowStateMinimized)
	b.until("document.hidden")
	watched(0, "a tab that is hidden")
	b.window(cdpbrowser.WindowStateNormal)
	b.until("!document.hidden")
	watched(1, "a tab that is seen again")
	b.until("document.getElementById('live-state').textContent.includes('live')")
	b.do(chromedp.Navigate("about:blank"))
	watched(0, "a tab that has gone")
}

// window changes the state of the tab's window.
func (b *browser) window(state cdpbrowser.WindowState) {
	b.t.Helper()
	b.call(func(ctx context.Context, target *chromedp.Target) error {
		w, err := cdp.Call(ctx, target, cdpbrowser.GetWindowForTarget, cdpbrowser.GetWindowForTargetParams{})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, target, cdpbrowser.SetWindowBounds, cdpbrowser.SetWindowBoundsParams{
			WindowID: w.WindowID, Bounds: &cdpbrowser.Bounds{WindowState: state},
		})
		return err
	})
}

// Times are UTC, and at a click those of the visitor's place.
func TestLocalTimes(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	b.call(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
		return err
	})
	b.open(s.url + "parked")
	at, err := time.Parse(time.RFC3339Nano, eval[string](b, "document.querySelector('main time').dateTime"))
	require.NoError(t, err)
	shown := func() string { return eval[string](b, "document.querySelector('main time').textContent") }
	utc := at.UTC().Format("2006-01-02 15:04:05Z")
	require.Equal(t, utc, shown())
	b.do(chromedp.Click("#clock"))
	require.Equal(t, at.In(time.FixedZone("", 9*60*60)).Format("02/01/2006, 15:04:05"), shown())
	require.Equal(t, "Times in UTC", eval[string](b, "document.getElementById('clock').textContent"))
	b.do(chromedp.Click("#clock"))
	require.Equal(t, utc, shown())
}

// The log is searched by a form, and a message found by its id.
func TestSearch(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	numbers := "[...document.querySelectorAll('main tbody a')].map((a) => a.textContent).join(' ')"
	b.open(s.url + "messages")
	require.Equal(t, "4 3 2 1", eval[string](b, numbers))
	b.do(chromedp.SendKeys("[role=search] input[name=topic]", "orders"), chromedp.SendKeys("[role=search] input[name=key]", "order-1"),
		chromedp.Click("[role=search] input[name=oldest]"), chromedp.KeyEvent("\r"))
	b.until("location.search.includes('key=order-1')")
	b.do(chromedp.WaitVisible("main h1"))
	require.Equal(t, "1 2", eval[string](b, numbers))
	require.True(t, eval[bool](b, "document.querySelector('input[name=oldest]').checked"), "the form has what was asked for")
	b.do(chromedp.SendKeys("form[action$=trace] input[name=id]", "m-2\r"))
	b.until("location.pathname.endsWith('/trace')")
	b.do(chromedp.WaitVisible(".problem")) // the id tells no time
	b.do(chromedp.SendKeys("input[name=since]", "2006-01-02\r"))
	b.until("location.search.includes('2006-01-02')")
	b.do(chromedp.WaitVisible("main h1"), chromedp.Click("main p a"))
	b.until("location.pathname.endsWith('/messages/2')")
}

// The audit and payloads are files, which the browser keeps and does not open.
func TestDownloads(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	dir := t.TempDir()
	b.call(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
			Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		})
		return err
	})
	file := func(name string) (content string) {
		t.Helper()
		require.Eventually(t, func() bool {
			body, err := os.ReadFile(filepath.Join(dir, name))
			content = string(body)
			return err == nil && content != ""
		}, patience, patience/1000, name)
		return content
	}
	_, err := s.ob.Admin().Drop(t.Context(), admin.ChangeRequest{By: admin.By{Actor: "bob", Reason: "=1+1"}, Selection: admin.Selection{Topic: "orders", Key: "order-2"}})
	require.NoError(t, err)
	b.open(s.url + "audit")
	b.do(chromedp.SendKeys("input[name=id]", "m-3"), chromedp.Click("button[formaction$='audit.csv']"))
	lines := strings.Split(strings.TrimSpace(file("audit.csv")), "\n")
	require.Equal(t, "no,at,action,actor,reason,group,consumer,seq,id,topic,key,details", lines[0])
	require.Len(t, lines, 4, "parked, given up, dropped: %s", lines)
	require.Contains(t, lines[1], ",bob,'=1+1,default,,3,m-3,orders,order-2,")
	b.open(s.url + "messages/4")
	b.do(chromedp.Click("a[download]"))
	require.Equal(t, script, file("message-4"))
	b.until("document.title.startsWith('Message')")
}

// From the top of a page the keyboard gets past the navigation at once.
func TestSkipLink(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	b.open(s.url + "messages")
	b.do(chromedp.KeyEvent("\t"))
	require.Equal(t, "Skip to content", eval[string](b, "document.activeElement.textContent"))
	require.GreaterOrEqual(t, eval[int](b, "document.activeElement.getBoundingClientRect().left"), 0, "it is seen while it has the focus")
	b.do(chromedp.KeyEvent("\r"))
	b.until("document.activeElement.id === 'main'")
	b.do(chromedp.KeyEvent("\t"))
	require.Equal(t, "topic", eval[string](b, "document.activeElement.name"))
}
