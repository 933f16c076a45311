package dashboard_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Destinations that are out are shown with their group, as far as this process has relays.
func TestBreakers(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := newShop(t, func(c *dashboard.Config) {
		c.Breakers = func(outbox, group string) []relay.BreakerState {
			require.Equal(t, "shop", outbox)
			if group == "mail" {
				return nil
			}
			return []relay.BreakerState{
				{Topic: "orders", Open: true, Since: since, NextProbe: since.Add(time.Minute), Err: errors.New("no broker <answers>")},
				{Topic: "invoices", Open: true, Unavailable: true, Since: since},
				{Topic: "mails", Since: since},
			}
		}
	})
	api := s.get("/api/v1/groups").Body.String()
	require.Contains(t, api, `"breakers":[{"topic":"orders","since":"2026-03-01T12:00:00Z","next_probe":"2026-03-01T12:01:00Z","error":"no broker \u003canswers\u003e"},`+
		`{"topic":"invoices","since":"2026-03-01T12:00:00Z","unavailable":true}]`)
	require.Contains(t, api, `"breakers":[]`)
	page := s.get("/groups?group=default").Body.String()
	require.Contains(t, page, `<span class="key">orders</span>`)
	require.Contains(t, page, "It does not answer")
	require.Contains(t, page, "no broker &lt;answers&gt;")
	require.Contains(t, page, `<span class="key">invoices</span>`)
	require.Contains(t, page, "It does not take the topic")
	require.NotContains(t, page, `<span class="key">mails</span>`)
}

// Whoever may enqueue chooses topics: of those that are out a hundred are shown, and all are counted.
func TestBreakers_Bounded(t *testing.T) {
	t.Parallel()
	const n = 20_000
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all, stored := make([]relay.BreakerState, n), []driver.Outage{}
	for i := range all {
		topic := fmt.Sprintf("hostile-%05d", i) + strings.Repeat("x", 240)
		all[i] = relay.BreakerState{Topic: topic, Open: true, Unavailable: true, Since: since, Err: fmt.Errorf("no topic %.200q", topic)}
		if i < 100 {
			stored = append(stored, driver.Outage{Topic: topic, Since: since, Cause: "unavailable", Error: fmt.Sprintf("no topic %.200q", topic)})
		}
	}
	stored = append(stored, driver.Outage{Since: since, Cause: "unavailable", Error: fmt.Sprint(n-100, " more topics are out")})
	s := newShop(t, func(c *dashboard.Config) {
		c.Breakers = func(string, string) []relay.BreakerState { return all }
	})
	session, err := s.ob.Source(memoutbox.SourceConfig{}).Acquire(t.Context(), time.Minute)
	require.NoError(t, err)
	keeper, ok := session.(driver.OutageKeeper)
	require.True(t, ok)
	require.NoError(t, keeper.KeepOutages(t.Context(), stored))

	api := s.get("/api/v1/groups").Body
	require.Contains(t, api.String(), `"more_breakers":19900`)
	require.Less(t, api.Len(), 192<<10)
	for _, path := range []string{"/", "/groups?group=default", "/retried", "/api/v1/status"} {
		page := s.get(path)
		require.Equal(t, http.StatusOK, page.Code, path)
		require.Less(t, page.Body.Len(), 256<<10, path)
		require.NotContains(t, page.Body.String(), "hostile-00100", path)
	}
	require.Contains(t, s.get("/").Body.String(), "The destination of shop / default does not take 20,000 topics")
	require.Regexp(t, "hostile-00000x+, hostile-00001x+, hostile-00002x+ and 19,997 more", s.get("/").Body.String())
	require.Contains(t, s.get("/groups?group=default").Body.String(), "Out: 20,000 destinations")
	require.Contains(t, s.get("/retried").Body.String(), "20,000 destinations are out")
}
