package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_TopicFilter: a group reads the topics that its patterns name, early rows and
// late ones alike, and counts no others as pending.
func TestO2_TopicFilter(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	src := func(group string, patterns ...string) *pgoutbox.Source {
		return sourceOf(t, ob, pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}, Topics: patterns})
	}
	orders := acquireFrom(t, src("orders", "orders.*", `100%_\*`))
	both := acquireFrom(t, src("both", "orders.*", "bills"))
	all := acquire(t, ob, "all")
	write := func(w *writer, names ...string) *writer {
		for _, name := range names {
			require.NoError(t, ob.Enqueue(t.Context(), w.Tx, outbox.Message{Topic: name, Payload: []byte(name)}))
		}
		return w
	}
	everything := []string{"orders.eu", "bills", `100%_\`, "100xx", "orders", "orders.us"}
	for range 3 {
		early := write(begin(t, ob, db), "orders.early", "bills")
		write(begin(t, ob, db), everything...).commit()
		require.Equal(t, []string{"orders.eu", `100%_\`, "orders.us"}, pending(t, db, "orders"))
		require.Equal(t, []string{"orders.eu", `100%_\`, "orders.us"}, payloads(readAll(t, orders, 1)))
		require.Equal(t, []string{"orders.eu", "bills", "orders.us"}, payloads(readAll(t, both, 2)))
		require.Equal(t, everything, payloads(readAll(t, all, 10)))
		early.commit()
		require.Equal(t, []string{"orders.early"}, payloads(readAll(t, orders, 1)))
		require.Equal(t, []string{"orders.early", "bills"}, payloads(readAll(t, both, 1)))
		require.Len(t, readAll(t, all, 10), 2)
		require.Empty(t, pending(t, db, "orders"))
		readNothing(t, orders)
	}
	require.Equal(t, `{orders.*,bills}`, query1[string](t, db, "SELECT topics::text FROM leat.outbox_groups WHERE relay_group = 'both'"))
	require.NoError(t, both.Release(t.Context()))
	acquireFrom(t, src("both"))
	require.True(t, query1[bool](t, db, "SELECT topics IS NULL FROM leat.outbox_groups WHERE relay_group = 'both'"), "the patterns have changed")
}
