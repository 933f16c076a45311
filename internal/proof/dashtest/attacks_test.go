package dashtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
)

// forged returns an attacker's page, with a form that pauses a group at a click.
func forged(dash string) string {
	return `<form method=post action="` + dash + `change/groups:pause"><input type=hidden name=group value=default>
<input type=hidden name=reason value=x><input type=hidden name=confirmed value=true><button id=win>Win</button></form>`
}

// tried is a script that tries to read the dashboard, and to change something without a form.
const tried = `(async (dash) => {
	const read = async (ask) => { try { const a = await ask(); return a.type === 'opaque' ? 'nothing' : String(a.status); } catch { return 'nothing'; } };
	const body = new URLSearchParams({group: 'default', reason: 'x', confirmed: 'true'});
	const json = JSON.stringify({group: 'default', reason: 'x'});
	return [
		await read(() => fetch(dash + 'api/v1/status')),
		await read(() => fetch(dash + 'api/v1/status', {mode: 'no-cors'})),
		await read(() => fetch(dash + 'change/groups:pause', {method: 'POST', mode: 'no-cors', body})),
		await read(() => fetch(dash + 'api/v1/groups:pause', {method: 'POST', mode: 'no-cors', body: json})),
		await read(() => fetch(dash + 'api/v1/groups:pause', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: json})),
	];
})(%q)`

// A page of another site can change nothing and read nothing, neither with a form that is clicked, nor
// with a request, nor in a frame.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), openBrowser(t) // its console is full of what it is refused
	evil := &door{next: http.NotFoundHandler()}
	server := httptest.NewServer(evil)
	t.Cleanup(server.Close)
	evil.put("/", forged(s.url)+`<iframe src="`+s.url+`"></iframe>`)
	before := s.state()
	for origin, site := range map[string]string{
		strings.Replace(server.URL, "127.0.0.1", foreign, 1): "cross-site",
		server.URL: "same-site", // another port of this machine
	} {
		b.open(origin)
		b.until("performance.getEntriesByType('resource').some((e) => e.initiatorType === 'iframe')")
		require.Equal(t, []string{"nothing", "nothing", "nothing", "nothing", "nothing"}, await[[]string](b, fmt.Sprintf(tried, s.url)), site)
		b.do(chromedp.Click("#win"), chromedp.WaitVisible(".problem"))
		require.Contains(t, b.text(), "another site")
		posts := 0
		for _, a := range s.came() {
			require.Equal(t, site, a.site, a)
			require.NotEqual(t, http.StatusOK, a.status, a)
			if strings.HasPrefix(a.path, http.MethodPost) {
				require.Equal(t, http.StatusForbidden, a.status, a)
				posts++
			}
		}
		require.Equal(t, 3, posts, "they arrive, and are refused")
		b.hears("status of 403", "blocked by CORS", "frame-ancestors 'none'", "NotSameOrigin")
	}
	require.Equal(t, before, s.state())

	// The same form on a page of the dashboard's own origin does pause the group.
	s.put("/own", forged("/ops/leat/"))
	own, err := url.JoinPath(s.url, "..", "..", "own")
	require.NoError(t, err)
	b.open(own)
	b.do(chromedp.Click("#win"), chromedp.WaitVisible(".notice"))
	require.NotEqual(t, before, s.state())
}

// A foreign name that was made to resolve to this machine is refused. To the browser the attacker's page
// and the dashboard have the same origin, so nothing else would protect the dashboard.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), openBrowser(t) // its console is full of what it is refused
	s.put("/", forged("/ops/leat/"))
	before := s.state()
	at := func(host string) string {
		u, err := url.Parse(s.url)
		require.NoError(t, err)
		return "http://" + host + ":" + u.Port() + "/"
	}
	b.open(at(foreign))
	require.Equal(t, []string{"421", "421", "421", "421", "421"}, await[[]string](b, fmt.Sprintf(tried, "/ops/leat/")))
	b.do(chromedp.Click("#win"), chromedp.WaitVisible(".problem"))
	for _, a := range s.came() {
		require.Empty(t, a.site, "browsers tell this to servers of HTTPS and of this machine only")
		require.Contains(t, a.host, foreign)
	}
	b.do(chromedp.Navigate(at(foreign)+"ops/leat/parked"), chromedp.WaitVisible(".problem"))
	require.NotContains(t, b.text(), "order-1")
	b.hears("status of 421")
	require.Equal(t, before, s.state())

	b.open(at("localhost"))
	require.Equal(t, []string{"200", "200"}, await[[]string](b, fmt.Sprintf(tried, "/ops/leat/"))[:2], "the page does read where it may")
}

// A script is shown as text, wherever an attacker can put one: ids, topics, keys, types, headers,
// payloads, errors, reasons, addresses.
func TestScripts(t *testing.T) {
	t.Parallel()
	s, b := newShop(t), newBrowser(t)
	s.relay("other", relay.Park, script)
	_, err := s.ob.Admin().Redrive(t.Context(), admin.ChangeRequest{By: admin.By{Actor: script, Reason: script}, Selection: admin.Selection{Key: script, Topic: script}})
	require.NoError(t, err)
	q := url.QueryEscape(script)
	for path, texts := range map[string]int{
		"messages/4":                           5, // id, topic, key, type, header, payload; its beginning and end are shown above
		"trace?since=2006-01-02&id=" + q:       1,
		"parked?topic=" + q + "&key=" + q:      0,
		"dead?group=mail":                      1,
		"audit":                                1,
		"inboxes":                              0, // keys are shortened
		"inboxes/parked/3":                     2,
		"inboxes/consumer?consumer=loyalty":    0,
		"messages?topic=" + q:                  2,
		"parked?did=" + q + "&n=1&others=" + q: 0,
	} {
		b.open(s.url + path)
		require.GreaterOrEqual(t, strings.Count(b.text(), script), texts, path)
		require.Zero(t, eval[int](b, "document.querySelectorAll('main img, main script, [onerror]').length"), path)
	}
}
