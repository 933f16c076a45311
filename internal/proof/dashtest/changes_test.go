package dashtest_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The changes are all changes of the API, in an order in which one shop has something for each. Page is
// the page with the button, "" for the page that the previous change has led to.
var changes = []struct {
	action, page string
	before       []chromedp.Action[chromedp.Void]
	button       string
	// count is what the preview counts, "" for what counts no records.
	count string
	// does is what the button says that confirms it, done what the page says afterwards.
	does, done string
}{
	{"parked:skip", "parked", menuOf("key order-1"), "form:has([name=key][value=order-1]) [formaction$='/parked:skip']", "1", "Skip 1 record for ever", "1 record skipped."},
	{"parked:redrive", "", nil, "form:has([name=key][value=order-2]) [formaction$='/parked:redrive']", "1", "Redrive 1 record", "1 record redriven."},
	{"parked:drop", "", menuOf("key "), "form:has([name=key]) [formaction$='/parked:drop']", "1", "Drop 1 record for ever", "1 record dropped."},
	{"dead:redrive", "dead?group=mail", nil, "form:has([name=id][value='m-1']) [formaction$='/dead:redrive']", "1", "Redrive 1 record", "1 record redriven."},
	{"dead:drop", "", []chromedp.Action[chromedp.Void]{
		chromedp.Click(chromedp.CSS("details:has(.by-filter) summary")), chromedp.SetValue(chromedp.CSS(".by-filter select[name=kind]"), "permanent"),
	}, ".by-filter button[formaction$='/dead:drop']", "3", "Drop 3 records for ever", "3 records dropped."},
	{"delayed:cancel", "delayed", nil, "form[action$='/delayed:cancel'] button", "1", "Cancel 1 message for ever", "1 record cancelled."},
	{"groups:pause", "groups?group=mail", []chromedp.Action[chromedp.Void]{
		chromedp.SendKeys(chromedp.CSS("input[name=patterns]"), "orders, mails.*"),
	}, "form[action$='/groups:pause'] button:not([formaction])", "", "Pause group mail", "The group was paused."},
	{"groups:resume", "", nil, "button[formaction$='/groups:resume']", "", "Resume group mail", "The group goes on."},
	{"groups:set-max-lag", "", []chromedp.Action[chromedp.Void]{
		chromedp.SendKeys(chromedp.CSS("input[name=max_lag]"), "36h"),
	}, "form[action$='/groups:set-max-lag'] button", "", "Limit group mail", "The greatest lag was set."},
	{"groups:remove", "", nil, "form[action$='/groups:remove'] button", "1", "Remove group mail for ever", "1 record of the removed group dropped."},
	{"inboxes/parked:skip", "inboxes", menuOf("message 1"), "form[action$='/inboxes/parked:skip']:has([value='key-m-1']) button", "1", "Skip 1 message for ever", "1 record skipped."},
	{"inboxes/parked:redrive", "", nil, "form:has([name=id][value='m-3']) [formaction$='/inboxes/parked:redrive']", "1", "Redrive 1 message", "1 record redriven."},
	{"inboxes/parked:drop", "", menuOf("1 message of loyalty"), "form:has([name=fingerprint]) [formaction$='/inboxes/parked:drop']", "1", "Drop 1 message for ever", "1 record dropped."},
}

// menuOf opens the menu of the row with this name.
func menuOf(what string) []chromedp.Action[chromedp.Void] {
	return []chromedp.Action[chromedp.Void]{chromedp.Click(chromedp.CSS("summary[aria-label^='More for " + what + "']"))}
}

// Every change of the API can be made with a button: the page says what the change would do, asks for a
// reason, and says what it has done. The audit has the actor and the reason.
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
		b.loaded()
		b.do(append(slices.Clone(c.before), chromedp.Click(chromedp.CSS(c.button)), chromedp.WaitVisible("form.confirm"))...)
		b.loaded()
		require.Equal(t, c.count, eval[string](b, "document.getElementById('count')?.textContent ?? ''"), c.action)
		require.Equal(t, c.does, eval[string](b, "document.getElementById('do').innerText"), c.action)
		why := "INC-42 " + c.action + " " + script
		b.do(chromedp.SendKeys(chromedp.CSS("input[name=reason]"), why))
		if eval[bool](b, "document.getElementById('typed') !== null") {
			b.do(chromedp.SendKeys(chromedp.CSS("#typed"), c.count))
		}
		b.do(chromedp.Click(chromedp.CSS("#do")), chromedp.WaitVisible(".notice.good strong"))
		require.Equal(t, c.done, eval[string](b, "document.querySelector('.notice.good strong').innerText"), c.action)
		actor, reason := s.audited(c.action)
		require.Equal(t, "ann", actor, c.action)
		require.Equal(t, why, reason)
		driven = append(driven, c.action)
		switch c.action {
		case "groups:pause":
			b.comesTo("document.getElementById('live').innerText.includes('paused: mails.*, orders')")
		case "groups:resume":
			b.comesTo("!document.getElementById('live').innerText.includes('paused:')")
		case "groups:set-max-lag":
			require.Contains(t, b.text(), "holds history back for at most 36 h")
		case "groups:remove":
			b.comesTo("![...document.querySelectorAll('#live th a')].some((a) => a.innerText === 'mail')")
		}
	}
	require.ElementsMatch(t, s.actions(), driven, "each change of the API is driven here")
}

// One record of a cause is redriven first, from the menu of the cause or from the confirmation page for
// all of its records, with and without scripts. The page of that record offers to redrive the others.
func TestOneFirst(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		s, b := newShop(t), newBrowser(t)
		if !scripts {
			b.withoutScripts()
		}
		ask := func() {
			t.Helper()
			b.do(chromedp.WaitVisible("form.confirm"))
			b.loaded()
		}
		b.open(s.url + "parked")
		b.do(append(menuOf("3 records: "), chromedp.Click(chromedp.CSS(".pop button[name=first]")))...)
		ask()
		require.Equal(t, "Redrive 1 record", eval[string](b, "document.getElementById('do').innerText"))
		b.open(s.url + "parked")
		b.do(chromedp.Click(chromedp.CSS("form:has([name=fingerprint]) button[formaction$='parked:redrive']:not([name])")))
		ask()
		require.Equal(t, "Redrive 3 records", eval[string](b, "document.getElementById('do').innerText"))
		b.do(chromedp.Click(chromedp.CSS("form.confirm button[name=first]")))
		for began := time.Now(); eval[string](b, "document.getElementById('do')?.innerText ?? ''") != "Redrive 1 record"; {
			require.Less(t, time.Since(began), patience)
		}
		ask()
		b.do(chromedp.SendKeys(chromedp.CSS("#reason"), "INC-42"), chromedp.Click(chromedp.CSS("#do")), chromedp.WaitVisible(".notice.good"))
		b.loaded()
		require.Contains(t, b.text(), "1 record redriven.")
		require.Contains(t, b.text(), "Message #1")
		b.open(eval[string](b, "document.querySelector('.notice a').href")) // looks again
		b.loaded()
		b.do(chromedp.Click(chromedp.CSS(".notice form button")))
		ask()
		require.Equal(t, "Redrive 2 records", eval[string](b, "document.getElementById('do').innerText"))
		actor, reason := s.audited("parked:redrive")
		require.Equal(t, "ann INC-42", actor+" "+reason)
	}
}

// loaded waits until the page has finished loading: until then its nodes may be replaced.
func (b *browser) loaded() {
	b.t.Helper()
	for began := time.Now(); !eval[bool](b, "document.readyState === 'complete'"); {
		require.Less(b.t, time.Since(began), patience)
	}
}

// actions returns all changes of the API, from its OpenAPI description.
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
