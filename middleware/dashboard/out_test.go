package dashboard_test

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// What the leader of a group has stored as out is shown, whichever process it runs in.
func TestOut(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	session, err := s.ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	out := driver.Outage{Topic: "crm", Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Cause: "unavailable", Error: "no topic " + script}
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{out}))
	require.Contains(t, s.get("/api/v1/status").Body.String(), `"out":[{"topic":"crm","cause":"unavailable","since":"2026-03-01T12:00:00Z","waiting":0,"error":"no topic `)
	for _, path := range []string{"/groups?group=default", "/retried", "/retried?outbox=shop"} {
		page := s.get(path).Body.String()
		require.Contains(t, page, `<span class="key">crm</span>`, path)
		require.Contains(t, page, "It does not take the topic", path)
		require.NotContains(t, page, script, path)
	}
	overview := s.get("/").Body.String()
	require.Contains(t, overview, "The destination of shop / default does not take 1 topic")
	require.Contains(t, overview, `datetime="2026-03-01T12:00:00Z"`)
}

// A destination that is unavailable is an alarm of its own, and not of a topic.
func TestOut_Whole(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	session, err := s.ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	out := driver.Outage{Topic: "crm", Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Cause: "outage", Error: "leat: kafka at [k1:9092] does not answer: EOF"}
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{out}))
	require.Contains(t, s.get("/").Body.String(), "kafka at [k1:9092] does not answer")
}

// Pages are about all outboxes, or about the one in the scope, which all links keep.
func TestSeveralOutboxes(t *testing.T) {
	t.Parallel()
	empty, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	s := newShop(t, func(c *dashboard.Config) { c.Outboxes["archive"] = empty.Admin() })
	for path, shown := range map[string]string{"/": "order-1", "/messages": "order-1", "/delayed": "reminders", "/parked": "order-1", "/dead": "order-1", "/audit": "order-1", "/retention": "Log of shop"} {
		all := s.get(path).Body.String()
		if path != "/" {
			require.Contains(t, all, shown, path)
			require.NotContains(t, s.get(path+"?outbox=archive").Body.String(), shown, path)
			require.Contains(t, s.get(path+"?outbox=shop").Body.String(), shown, path)
		}
		require.Contains(t, all, "All outboxes</span>", path)
		page := s.get(path + "?outbox=archive").Body.String()
		require.Contains(t, page, `href="/parked?outbox=archive"`, path)
		require.Contains(t, page, `href="`+path+`?outbox=shop"`, path)
		require.Contains(t, page, "· archive · leat</title>", path)
		require.Equal(t, http.StatusNotFound, s.get(path+"?outbox=typo").Code, path)
	}
	page := s.get("/parked?outbox=shop&group=mail").Body.String()
	require.Contains(t, page, `href="/dead?group=mail&amp;outbox=shop"`)
	require.Contains(t, page, "Nothing is parked here")
	require.Contains(t, page, "leat parked list", "the next command")
}

// What a badge counts is what its page shows, even if the first outbox has nothing of it.
func TestNight_BadgeLeadsToWhatItCounts(t *testing.T) {
	t.Parallel()
	empty, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	s := newShop(t, func(c *dashboard.Config) { c.Outboxes["archive"] = empty.Admin() })
	badge := regexp.MustCompile(`<li><a href="([^"]+)"[^>]*>[^<]*<span class="count[^"]*" id="count-(\w+)"><span class="number">([0-9,]+)<`)
	seen := map[string]bool{}
	for _, b := range badge.FindAllStringSubmatch(s.get("/").Body.String(), -1) {
		seen[b[2]] = true
		page := s.get(b[1]).Body.String()
		require.Contains(t, page, `<p class="sub">`+b[3]+` `, b[1])
		require.NotContains(t, page, "Nothing is", b[1])
	}
	require.Subset(t, seen, map[string]bool{"parked": true, "dead": true, "delayed": true, "inboxes": true})
}

// Nothing is fine while nobody works: neither an outbox without a relay, nor one whose relays have gone.
func TestNobodyWorks(t *testing.T) {
	t.Parallel()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	s := newShop(t, func(c *dashboard.Config) {
		c.Outboxes, c.Inboxes = map[string]admin.Outbox{"shop": ob.Admin()}, nil
	})
	page := s.get("/").Body.String()
	require.Contains(t, page, "Nobody works on shop")
	require.Contains(t, page, "leat run --config leat.yaml", "the next command")
	require.NotContains(t, page, "Nothing needs an operator")
	session, err := ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	working := newShop(t, func(c *dashboard.Config) {
		c.Outboxes, c.Inboxes = map[string]admin.Outbox{"shop": ob.Admin()}, nil
	})
	require.Contains(t, working.get("/").Body.String(), "Nothing needs an operator")
	require.NoError(t, session.Release(t.Context()))
	gone := newShop(t, func(c *dashboard.Config) {
		c.Outboxes, c.Inboxes = map[string]admin.Outbox{"shop": ob.Admin()}, nil
	})
	require.Contains(t, gone.get("/").Body.String(), "Nobody leads shop / default")
	require.NotContains(t, gone.get("/").Body.String(), "Nothing needs an operator")
}

// said is an outbox with other figures.
type said struct {
	admin.Outbox

	stats  admin.Stats
	groups []admin.Group
}

func (o said) Stats(context.Context) (admin.Stats, error) { return o.stats, nil }

func (o said) Groups(context.Context) ([]admin.Group, error) { return o.groups, nil }

// Whatever is wrong by the figures is an alarm with a severity, a title, a text and a page that is there, and each that somebody can
// do something about has a runbook. The worst come first.
func TestEveryAlarm(t *testing.T) {
	t.Parallel()
	led := []admin.SlotStats{{Owner: "a", LeaseLeft: time.Second}}
	behind := []admin.SlotStats{{Owner: "a", LeaseLeft: time.Second, Backlog: 7, Lag: time.Minute}}
	figures := said{stats: admin.Stats{Ranges: 3, Groups: []admin.GroupStats{
		{Name: "elsewhere", Slots: []admin.SlotStats{{Owner: "a", LeaseLeft: time.Second, Problem: "another database cluster"}}},
		{Name: "gone", Slots: []admin.SlotStats{{Backlog: 5, Lag: time.Minute}}},
		{Name: "half", Slots: []admin.SlotStats{{Owner: "a", LeaseLeft: time.Second}, {Slot: 1}}},
		{Name: "late", Slots: behind},
		{Name: "new"},
		{Name: "out", Slots: led, Retrying: 3, Held: 3, Out: []driver.Outage{{Topic: "crm", Cause: "unavailable", Since: time.Now(), Waiting: 3, Error: "no topic crm"}}},
		{Name: "parked", Slots: led, Parked: 3, Held: 5, OldestWaiting: time.Minute},
		{Name: "paused", Slots: behind},
		{Name: "differs", Slots: led},
		{Name: "retried", Slots: led, Retrying: 900, Held: 900, OldestRetried: 26 * time.Minute},
	}}, groups: []admin.Group{{Name: "paused", Paused: []string{"*"}}, {Name: "differs", Policies: []string{"*: park after 10", "*: skip after 1"}}}}
	s := newShop(t, func(c *dashboard.Config) {
		figures.Outbox = c.Outboxes["shop"]
		c.Outboxes = map[string]admin.Outbox{"shop": figures}
	})
	var st struct {
		Alarms []struct{ Severity, Title, Text, Runbook string }
	}
	require.NoError(t, json.Unmarshal(s.get("/api/v1/status").Body.Bytes(), &st))
	runbooks, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	got := map[string]string{}
	var order strings.Builder
	for _, a := range st.Alarms {
		got[a.Title] = a.Severity + ": " + a.Text
		order.WriteString(a.Severity[:1])
		_, alert, ok := strings.Cut(a.Runbook, "operations.md#")
		require.Equal(t, a.Severity != "note", ok, a.Title)
		require.True(t, !ok || strings.Contains(strings.ToLower(string(runbooks)), "\n### "+alert+"\n"), a.Runbook)
	}
	require.Regexp(t, "^f+w+n+$", order.String())
	for title, text := range map[string]string{
		"The position of shop / elsewhere cannot be used":     "fail: Slot 0: another database cluster.",
		"Nobody leads shop / gone":                            "fail: 5 messages wait.",
		"Nobody leads 1 of 2 slots of shop / half":            "warn: Nothing waits yet.",
		"shop / late is late":                                 "fail: The oldest message waits in the log for 1 m.",
		"No relay has begun for shop / new":                   "warn: Nothing is sent for this group until one runs.",
		"The destination of shop / out does not take 1 topic": "fail: crm: 3 records are tried again. no topic crm",
		"3 records of shop / parked are parked":               "warn: They wait for an operator. 2 records of their keys wait behind them.",
		"shop / parked is late":                               "fail: The oldest message waits behind another one of its key for 1 m.",
		"shop / paused is paused":                             "note: Paused: everything. 7 messages wait.",
		"Relays of shop / differs have different policies":    "note: The one that loses less counts: *: park after 10; *: skip after 1.",
		"900 records of shop / retried are tried again":       "warn: The oldest has waited for 26 m.",
		"shop / retried is late":                              "fail: The oldest message waits to be tried again for 26 m.",
		"Nobody maintains shop":                               "warn: Its log is not trimmed",
		"2 messages of inbox shop wait for an operator":       "warn: Their consumers go on without them.",
	} {
		require.Contains(t, got[title], text, title)
		delete(got, title)
	}
	require.Empty(t, got)
	page := s.get("/").Body.String()
	require.NotContains(t, page, "Nothing needs an operator")
	links := regexp.MustCompile(`<li class="alarm[^"]*">.*?<h3><a href="([^"]+)">`).FindAllStringSubmatch(page, -1)
	require.Len(t, links, len(st.Alarms))
	for _, link := range links {
		require.Equal(t, http.StatusOK, s.get(html.UnescapeString(link[1])).Code, link[1])
	}

	figures.stats.Maintainer, figures.stats.Groups = "shop-1", nil
	figures.stats.RangesAhead = 0
	s = newShop(t, func(c *dashboard.Config) {
		figures.Outbox = c.Outboxes["shop"]
		c.Outboxes = map[string]admin.Outbox{"shop": figures}
	})
	page = s.get("/").Body.String()
	require.Contains(t, page, "No range of the log of shop is ahead")
	require.Contains(t, page, "Nobody works on shop")
}

// A message says why it waits, what waits behind it, and what can be done; its payload can be closed part by part, and copied.
func TestMessagePage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	page := s.get("/messages/1").Body.String()
	require.Contains(t, page, "1 record of its key waits behind it")
	for _, button := range []string{
		`<button class="primary" formaction="/change/parked:redrive">Redrive…`, `<button formaction="/change/parked:skip">Skip…`, `<button class="danger off" formaction="/change/parked:drop">Drop the key…`,
		`<button type="button" data-copy="payload" hidden>Copy`,
	} {
		require.Contains(t, page, button)
	}
	require.Contains(t, page, `<details open><summary><b>customer</b>: {</summary>`)
	require.Regexp(t, `it waits behind <a href="/messages/1\?[^"]*">#1</a>`, s.get("/messages/2").Body.String())
	s.roles = []dashboard.Role{dashboard.RoleViewer}
	require.NotContains(t, s.get("/messages/1").Body.String(), "formaction")
}

// A change says beforehand what will happen, to how many records of which keys.
func TestConfirmationSays(t *testing.T) {
	t.Parallel()
	page := newShop(t).form("parked:redrive", url.Values{"topics": {"orders"}}).Body.String()
	require.Contains(t, page, "<h1>Redrive 2 records?</h1>")
	require.Regexp(t, `<span id="count">2</span> records of 2 keys</strong>, the oldest set aside <time`, page)
	require.Contains(t, page, `<button class="primary" id="do">Redrive 2 records</button>`)
	for key, held := range map[string]string{"order-1": "2", "order-2": "1"} {
		require.Regexp(t, `<bdi>`+key+`</bdi>.*?data-l="Held of it">`+held+`<`, page, "a sample of the keys, with what waits behind each")
	}
	page = newShop(t).form("parked:drop", url.Values{"topics": {"orders"}}).Body.String()
	require.Contains(t, page, "This cannot be undone.")
	require.Contains(t, page, `<button class="danger primary push" id="do">Drop 2 records for ever</button>`)
	require.Contains(t, page, "Type 2 to go on")
}

// Destinations that are out for the same reason are one alarm, and the worst comes first.
func TestAlarmsAreGrouped(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	session, err := s.ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{
		{Topic: "a", Since: since, Cause: "outage", Error: "dial 10.0.0.1:9092"},
		{Topic: "b", Since: since, Cause: "outage", Error: "dial 10.0.0.2:9092"},
		{Topic: "crm", Since: since, Cause: "unavailable", Error: "no topic crm"},
		{Topic: "erp", Since: since, Cause: "unavailable", Error: "no topic erp"},
	}))
	var st struct {
		Alarms []struct{ Severity, Title, Text, Runbook string }
	}
	require.NoError(t, json.Unmarshal(s.get("/api/v1/status").Body.Bytes(), &st))
	titles, last := []string{}, "fail"
	for _, a := range st.Alarms {
		titles = append(titles, a.Title)
		require.False(t, last == "warn" && a.Severity == "fail", titles)
		last = a.Severity
		require.Contains(t, a.Runbook, "operations.md#leat", a.Title)
	}
	require.Contains(t, titles, "The destination of shop / default does not answer: 2 topics")
	require.Contains(t, titles, "The destination of shop / default does not take 2 topics")
	require.Contains(t, titles, "3 records of shop / default are parked")
}
