package dashboard_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
)

// What is ticked is one change: one preview, one token, and as many entries of the audit as there are records.
func TestPicks(t *testing.T) {
	t.Parallel()
	for action, left := range map[string]int{"parked:drop": 1, "parked:skip": 2} {
		s := newShop(t)
		picks := url.Values{"group": {"default"}, "pick": {"topic=orders&key=order-1", "key=order-2&topic=orders", "topic=orders&key=order-1"}}
		page := s.form(action, picks)
		require.Equal(t, http.StatusOK, page.Code, page.Body)
		held, err := s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
		require.NoError(t, err)
		count := regexp.MustCompile(`id="count">(\d+)<`).FindStringSubmatch(page.Body.String())
		require.Len(t, count, 2)
		require.Equal(t, len(held)-left, int(count[1][0]-'0'), action)
		sent := url.Values{"reason": {"INC-42"}}
		for _, field := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(confirmation(page.Body.String()), -1) {
			sent.Add(field[1], strings.ReplaceAll(field[2], "&amp;", "&"))
		}
		require.Len(t, sent["pick"], 2, "each once")
		fewer := maps.Clone(sent)
		fewer["pick"] = sent["pick"][:1]
		require.Equal(t, http.StatusConflict, s.form(action, fewer).Code, "the token is that of all of them")
		require.Equal(t, http.StatusSeeOther, s.form(action, sent).Code)
		held, err = s.ob.Admin().Held(t.Context(), admin.HeldQuery{})
		require.NoError(t, err)
		require.Len(t, held, left, action)
		require.Equal(t, "INC-42", s.audited(action).Reason)
	}
	s := newShop(t)
	require.Equal(t, http.StatusBadRequest, s.form("parked:drop", url.Values{"pick": {"topic=orders&key=order-1"}, "topics": {"*"}}).Code)
	require.Equal(t, http.StatusBadRequest, s.form("parked:drop", url.Values{"pick": {"all=true"}}).Code)
	require.Equal(t, http.StatusBadRequest, s.form("inboxes/parked:drop", url.Values{"pick": {"id=m-1"}}).Code)
	require.Equal(t, http.StatusBadRequest, s.form("parked:drop", url.Values{"pick": make([]string, 101)}).Code)
}

// How pages look is kept in a cookie, and leads nowhere but below the dashboard.
func TestView(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	choose := func(back string) string {
		t.Helper()
		body := url.Values{"theme": {"dark"}, "density": {"compact"}, "clock": {"utc"}, "back": {back}}.Encode()
		w := s.ask(http.MethodPost, "/view", strings.NewReader(body), "Content-Type", "application/x-www-form-urlencoded")
		require.Equal(t, http.StatusSeeOther, w.Code)
		require.Contains(t, w.Header().Get("Set-Cookie"), "leat_view=dark.compact.utc; Path=/;")
		return w.Header().Get("Location")
	}
	require.Equal(t, "/parked?outbox=shop", choose("parked?outbox=shop"))
	for _, back := range []string{"//evil.example/x", "https://evil.example/x", `\\evil.example`, `%5Cevil.example`, "/../..//evil.example"} {
		target := choose(back)
		require.Regexp(t, `^/[^/\\]`, target+"x", back)
		require.NotContains(t, target, "https:", back)
	}
	page := s.ask(http.MethodGet, "/parked", nil, "Cookie", "leat_view=dark.compact.utc").Body.String()
	require.Contains(t, page, `data-theme="dark" data-density="compact" data-clock="utc"`)
	page = s.ask(http.MethodGet, "/parked", nil, "Cookie", `leat_view="x.<b>.y`).Body.String()
	require.Contains(t, page, `data-theme="auto" data-density="comfortable" data-clock="ago"`)
	require.Equal(t, http.StatusForbidden, s.ask(http.MethodPost, "/view", nil, "Sec-Fetch-Site", "cross-site").Code)
}

// Pages are compressed for a visitor, and not for the page of another site.
func TestCompression(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	coding := func(target string, headers ...string) string {
		t.Helper()
		w := s.ask(http.MethodGet, target, nil, headers...)
		require.Equal(t, http.StatusOK, w.Code)
		return w.Header().Get("Content-Encoding")
	}
	require.Equal(t, "gzip", coding("/", "Accept-Encoding", "br, gzip", "Sec-Fetch-Site", "none"))
	require.Equal(t, "gzip", coding("/", "Accept-Encoding", "gzip;q=0.5", "Sec-Fetch-Site", "same-origin"))
	require.Empty(t, coding("/", "Accept-Encoding", "gzip;q=0", "Sec-Fetch-Site", "none"))
	require.Empty(t, coding("/", "Accept-Encoding", "gzip", "Sec-Fetch-Site", "cross-site"))
	require.Empty(t, coding("/", "Accept-Encoding", "gzip"))
	require.Empty(t, coding("/", "Sec-Fetch-Site", "none"))
	require.Equal(t, "gzip", coding("/static/leat.css", "Accept-Encoding", "gzip"))
	w := s.ask(http.MethodGet, "/static/leat.css", nil)
	require.Equal(t, http.StatusNotModified, s.ask(http.MethodGet, "/static/leat.css", nil, "If-None-Match", w.Header().Get("ETag")).Code)
}
