package dashboard_test

import (
	"encoding/json"
	"net/http"
	"regexp"
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
