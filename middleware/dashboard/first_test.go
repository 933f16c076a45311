package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

var hidden = regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`)

// hiddenOf are the hidden fields of a form.
func hiddenOf(form string) url.Values {
	all := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(form, -1) {
		all.Add(field[1], strings.NewReplacer("&amp;", "&", "&#43;", "+", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">").Replace(field[2]))
	}
	return all
}

// One record of a cause is redriven before the others: it is the first one, the page that follows is its own, and
// offers all of the cause. What fails again is counted.
func TestOneFirst(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"parked", "dead"} {
		s, group := newShop(t), map[string]string{"parked": "default", "dead": "mail"}[kind]
		cause := url.Values{"group": {group}, "topics": {"*"}, "kind": {"permanent"}}
		page := s.form(kind+":redrive", cause).Body.String()
		require.Contains(t, page, `name="first" value="true" formnovalidate>Redrive one first…`)

		cause.Set("first", "true")
		page = confirmation(s.form(kind+":redrive", cause).Body.String())
		require.Contains(t, page, ">Redrive 1 record<")
		require.NotContains(t, page, `name="first"`)
		fields := hiddenOf(page)
		require.Equal(t, "m-1", fields.Get("id"))
		fields.Set("reason", "INC-42")
		w := s.form(kind+":redrive", fields)
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Regexp(t, "^/messages/1[?]", w.Header().Get("Location"))
		require.Equal(t, "m-1", s.audited(kind+":redrive").ID)

		page = s.get(w.Header().Get("Location")).Body.String()
		require.Contains(t, page, "1 record redriven.")
		require.Contains(t, page, "Redrive the others…")
		rest := hiddenOf(page[strings.Index(page, `class="row push"`):strings.Index(page, "Redrive the others…")])
		require.Equal(t, url.Values{"outbox": {"shop"}, "group": {group}, "topics": {"*"}, "kind": {"permanent"}}, rest)
		require.Equal(t, http.StatusOK, s.form(kind+":redrive", rest).Code)
	}

	s := newShop(t)
	page := s.get("/parked").Body.String()
	require.NotContains(t, page, "failed again")
	require.NotContains(t, page, `muted">leat: delivery failed`)
	_, err := s.ob.Admin().Redrive(t.Context(), admin.ChangeRequest{By: admin.By{Actor: "bob", Reason: "INC-42"}, Selection: admin.Selection{ID: "m-3"}})
	require.NoError(t, err)
	s.relayParked()
	require.Contains(t, s.get("/parked?topic=orders").Body.String(), "Redriven, failed again: 1")

	for _, wrong := range []url.Values{
		{"first": {"true"}, "topic": {"orders"}, "key": {"order-1"}}, {"first": {"true"}, "id": {"m-1"}}, {"first": {"yes"}, "topics": {"*"}},
	} {
		require.Equal(t, http.StatusBadRequest, s.form("parked:redrive", wrong).Code)
	}
	require.Equal(t, http.StatusBadRequest, s.form("parked:drop", url.Values{"first": {"true"}, "topics": {"*"}}).Code)
	require.NotContains(t, s.get("/messages/1?did=parked:redrive&n=1&rest=%25zz").Body.String(), "the others")
	s.roles = []dashboard.Role{dashboard.RoleViewer}
	require.NotContains(t, s.get("/messages/1?did=parked:redrive&n=1&rest=topics%3D*").Body.String(), "the others")
}

// A key is found by its beginning, in the box and by the API.
func TestKeysByTheirBeginning(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for query, want := range map[string]int{"order": 3, "order-1": 2, "rder": 0, "order%25": 0, "key:order-2": 1, "key:": 4} {
		body := s.get("/messages?q=" + query).Body.String()
		require.Equal(t, want, strings.Count(body, `<th role="rowheader" scope="row" class="n grow">`), query)
	}
	require.Equal(t, 3, strings.Count(s.get("/api/v1/messages?key_prefix=order-").Body.String(), `"seq"`))
	require.Equal(t, 0, strings.Count(s.get("/api/v1/messages?key=order-").Body.String(), `"seq"`))
	body := s.get("/messages?limit=1").Body.String()
	require.Regexp(t, `shop has been looked at\s+from #4 back to #4, of 4\.`, body)
}

// From a message one goes to the one before and the one behind of its key, whether they are held or not.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(orderOf("m-5", "order-3"), orderOf("m-6", "order-3"), orderOf("m-7", "order-1"), outbox.Message{Topic: "mails", Key: "order-3"})
	around := func(target string) (links []string) {
		for _, found := range regexp.MustCompile(`rel="(prev|next)" href="/messages/(\d+)\?`).FindAllStringSubmatch(s.get(target).Body.String(), -1) {
			links = append(links, found[1]+" "+found[2])
		}
		return links
	}
	require.Equal(t, []string{"next 6"}, around("/messages/5"))
	require.Equal(t, []string{"prev 5"}, around("/messages/6"))
	require.Empty(t, around("/messages/8"))
	require.Equal(t, []string{"next 2"}, around("/messages/1"))
	require.Equal(t, []string{"prev 1", "next 7"}, around("/messages/2"), "one that is held, and one that nobody has come to")
}

// The header traceparent leads to the trace, if somebody has said where traces are.
func TestTraceLink(t *testing.T) {
	t.Parallel()
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	messages := []outbox.Message{
		{Topic: "t", Headers: map[string]string{"Traceparent": "00-" + id + "-00f067aa0ba902b7-01"}},
		{Topic: "t", Headers: map[string]string{"traceparent": script}},
	}
	s := newShop(t, func(c *dashboard.Config) { c.TraceURL = "https://traces.example/trace/{id}?a=1&b=2" })
	s.enqueue(messages...)
	require.Contains(t, s.get("/messages/5").Body.String(), `<a href="https://traces.example/trace/`+id+`?a=1&amp;b=2" rel="noreferrer">`)
	require.NotContains(t, s.get("/messages/6").Body.String(), "traces.example")
	s = newShop(t)
	s.enqueue(messages...)
	require.NotContains(t, s.get("/messages/5").Body.String(), "Open the trace")
	for _, wrong := range []string{"javascript:alert('{id}')", "https://traces.example/", "/trace/{id}", "https://{id"} {
		cfg := dashboard.Config{Outboxes: map[string]admin.Outbox{"shop": s.ob.Admin()}, Authorize: func(*http.Request) (dashboard.Identity, error) { return dashboard.Identity{}, nil }, TraceURL: wrong}
		_, err := dashboard.New(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, wrong)
		require.ErrorContains(t, err, "TraceURL")
	}
}

// Who chooses how pages look stays on the page, if it is one.
func TestSettingsLeadBack(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *dashboard.Config) { c.Base = "/ops/leat/" })
	back := regexp.MustCompile(`name="back" value="([^"]*)"`)
	for target, want := range map[string]string{"": "", "messages/1?outbox=shop": "messages/1?outbox=shop", "inboxes/consumer?consumer=loyalty": "inboxes/consumer?consumer=loyalty"} {
		require.Equal(t, want, back.FindStringSubmatch(s.get("/ops/leat/" + target).Body.String())[1])
		require.Equal(t, http.StatusOK, s.get("/ops/leat/"+want).Code)
	}
	w := s.ask(http.MethodPost, "/ops/leat/change/parked:redrive", strings.NewReader("topics=*"), "Content-Type", "application/x-www-form-urlencoded")
	require.Empty(t, back.FindStringSubmatch(w.Body.String())[1])
}
