package dashboard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
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
	page := s.get("/groups").Body.String()
	require.Contains(t, page, "<b>crm</b> is not taken by the destination since")
	require.NotContains(t, page, script)
	overview := s.get("/").Body.String()
	require.Contains(t, overview, "1 destinations are out, &#34;crm&#34; since 2026-03-01T12:00:00Z")
}

// A destination that is away is an alarm of its own, and not of a topic.
func TestOut_Whole(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	session, err := s.ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	out := driver.Outage{Topic: "crm", Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Cause: "outage", Error: "leat: kafka at [k1:9092] does not answer: EOF"}
	require.NoError(t, keeper.KeepOutages(t.Context(), []driver.Outage{out}))
	require.Contains(t, s.get("/").Body.String(), out.Error+", since 2026-03-01T12:00:00Z, for 1 topics")
}

// The badge leads to the outbox in which records are parked, and each page that is about one
// outbox lets choose another one.
func TestSeveralOutboxes(t *testing.T) {
	t.Parallel()
	empty, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	s := newShop(t, func(c *dashboard.Config) { c.Outboxes["archive"] = empty.Admin() })
	require.Contains(t, s.get("/messages").Body.String(), `href="/parked?group=default&amp;outbox=shop"`)
	for _, path := range []string{"/messages", "/delayed", "/trace", "/parked", "/dead", "/groups", "/retention"} {
		require.Contains(t, s.get(path).Body.String(), `<select name="outbox"><option selected>archive</option><option>shop</option>`, path)
	}
	require.NotContains(t, newShop(t).get("/messages").Body.String(), `<select name="outbox">`)
}
