package pgoutbox_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// startSlots runs a relay of the default group that wants so many slots.
func startSlots(t *testing.T, ob *pgoutbox.Outbox, broker *outboxtest.Broker, slots int) *running {
	t.Helper()
	r, err := relay.New(sourceOf(t, ob, pgoutbox.SourceConfig{Slots: slots}), broker.Sink(), relay.Config{
		Lease: 2 * time.Second, PublishTimeout: 500 * time.Millisecond, LeaseMargin: 200 * time.Millisecond,
		PollMax: 50 * time.Millisecond, BackoffMax: 100 * time.Millisecond, PageSize: 7,
	})
	require.NoError(t, err)
	return runRelay(t, r)
}

// TestO5_O13_O14_RelaysShareSlots runs relays as users do: they share the slots, change
// their number when they are replaced, and leave nothing behind.
func TestO5_O13_O14_RelaysShareSlots(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	broker := outboxtest.NewBroker()
	written := 0
	write := func() {
		for range 30 {
			put(t, ob, fmt.Sprint("k", written%11), strconv.Itoa(written))
			written++
		}
	}
	relays := []*running{startSlots(t, ob, broker, 3), startSlots(t, ob, broker, 3)}
	write()
	awaitOwners(t, db, 3, 2)
	for i, slots := range []int{4, 1} {
		for j := range relays {
			require.NoError(t, relays[j].stop())
			relays[j] = startSlots(t, ob, broker, slots)
			write()
		}
		awaitOwners(t, db, slots, min(2, slots))
		write()
		_, err := broker.AwaitDistinct(t.Context(), written)
		require.NoError(t, err, "change %d", i)
	}
	for _, r := range relays {
		require.NoError(t, r.stop())
	}
	require.Zero(t, inverted(broker.Log()))
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_leases WHERE owner IS NOT NULL"))
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_members"))
	require.Empty(t, pending(t, db, "default"))
}

// awaitOwners waits until the group has so many slots, all held, by so many relays.
func awaitOwners(t *testing.T, db *testenv.Database, slots, relays int) {
	t.Helper()
	want := fmt.Sprint(slots, slots, relays)
	var got string
	require.Eventually(t, func() bool {
		err := db.Pool.QueryRow(context.Background(), `
			SELECT concat_ws(' ', g.slots, count(l.owner), count(DISTINCT regexp_replace(l.owner, '/[0-9]+$', '')))
			FROM leat.outbox_groups g LEFT JOIN leat.outbox_leases l ON l.relay_group = g.relay_group AND l.slot < g.slots
			WHERE g.relay_group = 'default' AND g.next_slots IS NULL GROUP BY g.slots`).Scan(&got)
		return err == nil && got == want
	}, 60*time.Second, 20*time.Millisecond, "want %s", want)
}
