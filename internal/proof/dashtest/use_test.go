package dashtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
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

// A hidden tab holds no stream open, since a browser has few connections to a server. It opens one again
// when it is shown, and has none after it has left the dashboard.
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
	b.until("document.getElementById('live-state').textContent.includes('Live')")
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

// The look of pages is chosen once, and kept: relative times, UTC, or the visitor's local time.
func TestSettings(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	b.call(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
		return err
	})
	b.open(s.url + "parked?outbox=shop")
	at, err := time.Parse(time.RFC3339Nano, eval[string](b, "document.querySelector('main time').dateTime"))
	require.NoError(t, err)
	shown := func() string { return eval[string](b, "document.querySelector('main time').textContent") }
	require.Regexp(t, `^\d+ (s|min) ago$`, shown())
	require.Equal(t, at.UTC().Format(time.DateTime)+" UTC", eval[string](b, "document.querySelector('main time').title"))
	choose := func(values ...string) {
		t.Helper()
		b.do(chromedp.Click(chromedp.CSS("#prefs summary")))
		for _, value := range values {
			b.do(chromedp.Click(chromedp.CSS("#prefs [value=" + value + "]")))
		}
		b.do(chromedp.Click(chromedp.CSS("#prefs button")))
		b.until("!document.getElementById('prefs').open && document.readyState === 'complete'")
		b.do(chromedp.WaitVisible("main h1"))
		require.True(t, eval[bool](b, "location.pathname.endsWith('/parked') && location.search === '?outbox=shop'"), "one stays where one is")
	}
	choose("utc", "dark", "compact")
	require.Equal(t, at.UTC().Format(time.DateTime)+"Z", shown())
	require.Equal(t, "dark compact", eval[string](b, "document.documentElement.dataset.theme + ' ' + document.documentElement.dataset.density"))
	choose("local")
	require.Equal(t, at.In(time.FixedZone("", 9*60*60)).Format("02/01/2006, 15:04:05"), shown())
	require.Equal(t, "dark", eval[string](b, "document.documentElement.dataset.theme"))
}

// Keys lead to the search box and to pages, within the scope; Esc closes a menu. Keys typed into a field
// are text.
func TestKeys(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	b.open(s.url + "?outbox=shop")
	b.do(chromedp.KeyEvent("/"))
	require.Equal(t, "q", eval[string](b, "document.activeElement.id"))
	b.do(chromedp.KeyEvent("gp/"))
	require.Contains(t, eval[string](b, "document.getElementById('q').value"), "gp/")
	b.do(chromedp.Click("main h1"), chromedp.KeyEvent("g"), chromedp.KeyEvent("p"))
	b.until("location.pathname.endsWith('/parked') && location.search === '?outbox=shop'")
	b.do(chromedp.WaitVisible("main h1"), chromedp.Click("#scope summary"))
	b.until("document.getElementById('scope').open")
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("!document.getElementById('scope').open && document.activeElement.matches('#scope summary')")
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("o"))
	b.until("location.pathname.endsWith('/leat/') && location.search === '?outbox=shop'")
}

// A live update closes no menu and unticks nothing: pages with checkboxes are not updated.
func TestLiveLeavesAlone(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	b.open(s.url)
	b.do(chromedp.Click("#scope summary"))
	_, err := s.ob.Admin().Drop(t.Context(), admin.ChangeRequest{By: admin.By{Actor: "bob", Reason: "INC-42"}, Selection: admin.Selection{Topics: "*"}})
	require.NoError(t, err)
	b.until("document.getElementById('count-parked').hidden")
	b.until("!document.getElementById('live').innerText.includes('are parked')")
	require.True(t, eval[bool](b, "document.getElementById('scope').open"))
	b.open(s.url + "parked")
	require.True(t, eval[bool](b, "document.getElementById('live') === null"), "what is chosen on this page is not swapped")
}

// The log is searched with a form, and a message is found by its id.
func TestSearch(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	numbers := "[...document.querySelectorAll('main tbody th a')].map((a) => a.textContent).join(' ')"
	b.open(s.url + "messages")
	require.Equal(t, "#4 #3 #2 #1", eval[string](b, numbers))
	b.do(chromedp.Click("details:has(.fields) summary"), chromedp.SendKeys(".fields [name=topic]", "orders"), chromedp.SendKeys(".fields [name=key]", "order-1"),
		chromedp.Click(".fields [name=oldest]"), chromedp.KeyEvent("\r"))
	b.until("location.search.includes('key=order-1')")
	b.do(chromedp.WaitVisible("main h1"))
	require.Equal(t, "#1 #2", eval[string](b, numbers))
	require.True(t, eval[bool](b, "document.querySelector('input[name=oldest]').checked"), "the form has what was asked for")
	box := func(text string) {
		t.Helper()
		eval[string](b, "document.getElementById('q').value = ''")
		b.do(chromedp.SendKeys(chromedp.CSS("#q"), text+"\r"))
		b.until("document.querySelector('main h1').innerText.includes(" + strconv.Quote(text) + ")")
	}
	box("order-2")
	require.Equal(t, "#3", eval[string](b, numbers))
	box("ord*")
	require.Equal(t, "#3 #2 #1", eval[string](b, numbers))
	box("#2")
	require.Equal(t, "Message #2 of shop", eval[string](b, "document.querySelector('.alarm h3').innerText"))
	box("id:m-2")
	b.do(chromedp.WaitVisible(".notice.warn"), chromedp.Click(".notice.warn a")) // the id tells no time
	b.until("location.pathname.endsWith('/trace')")
	b.do(chromedp.WaitVisible(".problem"), chromedp.SendKeys("input[name=since]", "2006-01-02\r"))
	b.until("location.search.includes('2006-01-02')")
	b.do(chromedp.WaitVisible("main h1"), chromedp.Click("main .alarm a"))
	b.until("location.pathname.endsWith('/messages/2')")
}

// The audit and payloads are files that the browser saves and does not open.
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
	b.do(chromedp.SendKeys("main input[name=id]", "m-3"), chromedp.Click("button[formaction$='audit.csv']"))
	lines := strings.Split(strings.TrimSpace(file("audit.csv")), "\n")
	require.Equal(t, "no,at,action,actor,reason,group,consumer,seq,id,topic,key,details", lines[0])
	require.Len(t, lines, 4, "parked, given up, dropped: %s", lines)
	require.Contains(t, lines[1], ",bob,'=1+1,default,,3,m-3,orders,order-2,")
	b.open(s.url + "messages/4")
	b.do(chromedp.Click("a[download]"))
	require.Equal(t, script, file("message-4"))
	b.until("document.title.startsWith('#4')")
}

// From the top of a page, the skip link takes the keyboard past the navigation.
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
	require.True(t, eval[bool](b, "document.querySelector('main').contains(document.activeElement)"))
}
