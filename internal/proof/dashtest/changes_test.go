package dashtest_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// changes are all changes, in an order in which one shop has something for each. Page is where
// its button is, "" for the page that the one before has led to.
var changes = []struct {
	action, page string
	before       []chromedp.Action[chromedp.Void]
	button       string
	// count is what the preview counts, "" for what counts no records.
	count string
}{
	{"parked:skip", "parked", nil, "form[action$='/parked:skip']:has([name=key][value=order-1]) button", "1"},
	{"parked:redrive", "", nil, "form[action$='/parked:redrive']:has([name=topics][value=orders]) button", "1"},
	{"parked:drop", "", nil, "form[action$='/parked:drop']:has([name=key]) button", "1"},
	{"dead:redrive", "dead?group=mail", nil, "form[action$='/dead:redrive']:has([name=id][value='m-1']) button", "1"},
	{"dead:drop", "", []chromedp.Action[chromedp.Void]{
		chromedp.Click(chromedp.CSS("details summary")), chromedp.SetValue(chromedp.CSS(".pick select[name=kind]"), "permanent"),
	}, ".pick button[formaction$='/dead:drop']", "3"},
	{"delayed:cancel", "delayed", nil, "form[action$='/delayed:cancel'] button", "1"},
	{"groups:pause", "groups", []chromedp.Action[chromedp.Void]{
		chromedp.Click(chromedp.CSS("details:has([value=mail]) summary")), chromedp.SendKeys(chromedp.CSS("details[open] input[name=patterns]"), "orders, mails.*"),
	}, "details[open] form[action$='/groups:pause'] button:not([formaction])", ""},
	{"groups:resume", "", []chromedp.Action[chromedp.Void]{
		chromedp.Click(chromedp.CSS("details:has([value=mail]) summary")),
	}, "details[open] button[formaction$='/groups:resume']", ""},
	{"groups:set-max-lag", "", []chromedp.Action[chromedp.Void]{
		chromedp.Click(chromedp.CSS("details:has([value=mail]) summary")), chromedp.SendKeys(chromedp.CSS("details[open] input[name=max_lag]"), "36h"),
	}, "details[open] form[action$='/groups:set-max-lag'] button", ""},
	{"groups:remove", "", []chromedp.Action[chromedp.Void]{
		chromedp.Click(chromedp.CSS("details:has([value=mail]) summary")),
	}, "details[open] form[action$='/groups:remove'] button", "1"},
	{"inboxes/parked:skip", "inboxes", nil, "form[action$='/inboxes/parked:skip']:has([value='key-m-1']) button", "1"},
	{"inboxes/parked:redrive", "", nil, "form[action$='/inboxes/parked:redrive']:has([name=id][value='m-3']) button", "1"},
	{"inboxes/parked:drop", "", nil, "form[action$='/inboxes/parked:drop']:has([name=fingerprint]) button", "1"},
}

// Every change that the API has can be made with its buttons: it says what it would do, asks
// for a reason, and says what it has done. The audit has who asked, and why.
func TestEveryChange(t *testing.T) {
	t.Parallel()
	t.Run("with scripts", func(t *testing.T) {
		t.Parallel()
		everyChange(t, true)
	})
	t.Run("without scripts", func(t *testing.T) {
		t.Parallel()
		everyChange(t, false)
	})
}

func everyChange(t *testing.T, scripts bool) {
	t.Helper()
	s, b := newShop(t), newBrowser(t) // in this order, so that the tab goes before its server does
	if !scripts {
		b.withoutScripts()
	}
	driven := []string{}
	for _, c := range changes {
		if c.page != "" {
			b.open(s.url + c.page)
		}
		b.do(append(slices.Clone(c.before), chromedp.Click(chromedp.CSS(c.button)), chromedp.WaitVisible("form.confirm"))...)
		require.Equal(t, c.count, eval[string](b, "document.getElementById('count')?.textContent ?? ''"), c.action)
		why := "INC-42 " + c.action + " " + script
		b.do(chromedp.SendKeys(chromedp.CSS("input[name=reason]"), why), chromedp.Click(chromedp.CSS("form.confirm button")), chromedp.WaitVisible(".notice"))
		done := "Done: " + strings.ReplaceAll(c.action, ":", ", ") + "."
		if c.count != "" {
			done += " Changed: " + c.count + "."
		}
		require.Equal(t, done, eval[string](b, "document.querySelector('.notice').innerText"))
		actor, reason := s.audited(c.action)
		require.Equal(t, "ann", actor, c.action)
		require.Equal(t, why, reason)
		driven = append(driven, c.action)
		switch c.action {
		case "groups:pause":
			b.comesTo("document.getElementById('live').innerText.includes('paused: mails.* orders')")
		case "groups:resume":
			b.comesTo("!document.getElementById('live').innerText.includes('paused')")
		case "groups:set-max-lag":
			require.Contains(t, b.text(), "Holds history back for at most 36h")
		case "groups:remove":
			require.Zero(t, eval[int](b, "document.querySelectorAll('details:has([value=mail])').length"))
		}
	}
	require.ElementsMatch(t, s.actions(), driven, "each change of the API is driven here")
}

// actions are all changes of the API, as its description has them.
func (s *shop) actions() (all []string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"api/v1/openapi.yaml", nil)
	require.NoError(s.t, err)
	w, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	require.NoError(s.t, err)
	for _, m := range regexp.MustCompile(`(?m)^  /api/v1/(\S+:\S+):`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return all
}
