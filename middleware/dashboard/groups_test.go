package dashboard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
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
