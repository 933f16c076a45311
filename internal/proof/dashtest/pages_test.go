package dashtest_test

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/color/palette"
	"image/draw"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
)

var update = flag.Bool("update", false, "write the pictures in docs/dashboard")

// pages lists all pages, with what each shows. {seq}, {key}, {id} and {topic} are those of a parked
// record.
var pages = []struct{ name, path, shows string }{
	{"overview", "", "are parked"},
	{"groups", "groups?group=analytics", "holds history back for at most 36 h"},
	{"retried", "retried", "Nothing is retried"},
	{"parked", "parked", "no schema 17"},
	{"parked-key", "parked?outbox=shop&group=default&topic={topic}&key={key}", "waits"},
	{"dead", "dead?group=mail", "mailbox is full"},
	{"delayed", "delayed", "invoice.due"},
	{"search", "messages", "shipments"},
	{"message", "messages/{seq}", "sku"},
	{"trace", "trace?id={id}", "Delivery failed"},
	{"inboxes", "inboxes", "customer is unknown"},
	{"consumer", "inboxes/consumer?consumer=loyalty", "it remembers ids"},
	{"inbox-message", "inboxes/parked/1", "customer is unknown"},
	{"retention", "retention", "analytics"},
	{"audit", "audit", "INC-42"},
}

// Every page loads, wide and narrow, light and dark, without a complaint on the console.
func TestPages(t *testing.T) {
	t.Parallel()
	s, b := newLiveShop(t), newBrowser(t)
	parked, err := s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
	require.NoError(t, err)
	require.NotEmpty(t, parked)
	of := strings.NewReplacer("{seq}", strconv.FormatInt(parked[0].Seq, 10), "{id}", parked[0].ID, "{topic}", parked[0].Topic, "{key}", parked[0].Key)
	for _, page := range pages {
		b.scheme("light")
		b.do(chromedp.EmulateViewport(1100, 500))
		b.open(s.url + of.Replace(page.path))
		if page.name == "overview" {
			b.until(`document.querySelectorAll('.charts canvas').length === 3`)
			b.until(`/[1-9][0-9.]* \/s in/.test(document.getElementById('live').innerText)`)
		}
		b.do(chromedp.EmulateViewport(1100, min(1250, eval[int64](b, "document.documentElement.scrollHeight"))))
		b.until(`document.getElementById('live-state').textContent.includes('Live')`)
		require.Contains(t, b.text(), page.shows, page.name)
		light := eval[string](b, "getComputedStyle(document.body).backgroundColor")
		b.picture(page.name)
		b.scheme("dark")
		require.NotEqual(t, light, eval[string](b, "getComputedStyle(document.body).backgroundColor"), page.name)
		b.do(chromedp.EmulateViewport(400, 800))
		require.LessOrEqual(t, eval[int](b, "document.documentElement.scrollWidth"), 400, "%s is wider than 400 pixels", page.name)
		if page.name == "overview" {
			b.picture("overview-narrow-dark")
		}
	}
}

// picture saves what is visible in docs/dashboard if -update is set, since reducing the colours takes
// long.
func (b *browser) picture(name string) {
	b.t.Helper()
	if !*update {
		return
	}
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	seen, err := png.Decode(bytes.NewReader(shot))
	require.NoError(b.t, err)
	small := image.NewPaletted(seen.Bounds(), palette.Plan9) // a third of the size
	draw.Draw(small, small.Bounds(), seen, image.Point{}, draw.Src)
	var file bytes.Buffer
	require.NoError(b.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&file, small))
	require.Less(b.t, file.Len(), 100<<10, "the picture of %s is too large", name)
	dir := filepath.Join("..", "..", "..", "docs", "dashboard")
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), file.Bytes(), 0o644))
}

// The overview and the badge follow events without a reload.
func TestLive(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	b.do(chromedp.Navigate(s.url), chromedp.WaitVisible("main h1"))
	require.Equal(t, "3", eval[string](b, "document.querySelector('#count-parked .number').textContent"))
	by := admin.By{Actor: "bob", Reason: "INC-42"}
	_, err := s.ob.Admin().Drop(t.Context(), admin.ChangeRequest{By: by, Selection: admin.Selection{Topics: "*"}})
	require.NoError(t, err)
	require.NoError(t, s.ob.Admin().Pause(t.Context(), admin.PauseRequest{By: by, Group: "mail"}))
	b.until(`document.getElementById('count-parked').hidden`)
	b.until(`document.getElementById('live').innerText.includes('paused')`)
}

// One change is made with the mouse, and one with the keyboard alone: to the page, to the button, a
// reason, Enter.
func TestChange(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	b.do(chromedp.Navigate(s.url+"parked"), chromedp.WaitVisible("main h1"),
		chromedp.Click("form:has([name=fingerprint]) [formaction$='parked:redrive']"), chromedp.WaitVisible("form.confirm"))
	require.Equal(t, "3", eval[string](b, "document.getElementById('count').textContent"), "of both topics")
	b.until("document.activeElement.name === 'reason'") // or the browser complains that it cannot focus it
	b.do(chromedp.KeyEvent("INC-42"), chromedp.Click("#do"), chromedp.WaitVisible(".notice.good"))
	require.Contains(t, b.text(), "3 records redriven.")

	b.do(chromedp.Navigate(s.url+"dead?group=mail"), chromedp.WaitVisible("main h1"), chromedp.KeyEvent("\t"), chromedp.KeyEvent("\r"))
	b.until("document.activeElement.id === 'main'")
	for range 60 {
		b.do(chromedp.KeyEvent("\t"))
		if eval[bool](b, "document.activeElement.matches(\"form:has([name=id]) [formaction$='dead:redrive']\")") {
			break
		}
	}
	require.NotEqual(t, "none", eval[string](b, "getComputedStyle(document.activeElement).outlineStyle"), "the focus is seen")
	b.do(chromedp.KeyEvent("\r"), chromedp.WaitVisible("form.confirm"))
	b.until("document.activeElement.name === 'reason'")
	b.do(chromedp.KeyEvent("INC-43"), chromedp.KeyEvent("\r"), chromedp.WaitVisible(".notice.good"))
	entries, err := s.ob.Admin().Audit(t.Context(), admin.AuditQuery{Newest: true, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "ann", entries[0].Actor)
	require.Equal(t, "INC-43", entries[0].Reason)
}

// All ticked rows are changed together, with or without scripts, after one confirmation page for all of
// them.
func TestBulk(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		s, b := newShop(t), newBrowser(t)
		if !scripts {
			b.withoutScripts()
		}
		b.open(s.url + "parked")
		if scripts {
			b.do(chromedp.Click("input[data-all]"))
			require.Equal(t, 3, eval[int](b, "document.querySelectorAll('tbody .tick :checked').length"))
			b.do(chromedp.Click("input[data-all]"))
		}
		b.do(chromedp.EmulateViewport(1100, 1600), chromedp.Click("input[name=pick][value*='order-1']"), chromedp.Click("input[name=pick][value*='order-2']"))
		require.Equal(t, 2, eval[int](b, "document.querySelectorAll('tbody .tick :checked').length"))
		b.do(chromedp.Click(".bulkbar [formaction$='parked:drop']"), chromedp.WaitVisible("form.confirm"))
		require.Equal(t, "3", eval[string](b, "document.getElementById('count').textContent"), "with the one that waits behind")
		b.do(chromedp.SendKeys("#reason", "INC-42"), chromedp.SendKeys("#typed", "3"), chromedp.Click("#do"), chromedp.WaitVisible(".notice.good"))
		require.Contains(t, b.text(), "3 records dropped.")
		held, err := s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
		require.NoError(t, err)
		require.Len(t, held, 1)
	}
}

// Without scripts, too, a visitor who may change nothing is offered no change.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.withoutScripts()
	viewer := newShop(t, dashboard.RoleViewer)
	b.do(chromedp.Navigate(viewer.url+"parked"), chromedp.WaitVisible("main h1"), chromedp.WaitNotPresent("main form[method=post]"))
	b.do(chromedp.Navigate(viewer.url+"messages/1"), chromedp.WaitVisible("main h1"), chromedp.WaitNotPresent("#payload"))
}

// The tests above rely on this: a script that the policy blocks is noticed.
func TestTheConsoleIsHeard(t *testing.T) {
	t.Parallel()
	b := openBrowser(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><link rel=icon href='data:,'><p id='here'>hello</p><script>alert(1)</script>"))
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(server.URL), chromedp.WaitVisible("#here")))
	require.Eventually(t, func() bool { return len(b.said()) > 0 }, patience, patience/1000)
}
