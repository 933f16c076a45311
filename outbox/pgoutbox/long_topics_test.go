package pgoutbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// TestN4_LongTopicsCanBeSetAside: a producer that writes to the table directly can set a topic of
// kilobytes, which no destination accepts. It is set aside like any other record, and the records behind
// it go on. S4.
func TestN4_LongTopicsCanBeSetAside(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	// Of random digits, so that the index cannot compress them.
	exec(t, h.db, `INSERT INTO leat.outbox (id, shard, topic, key, payload)
		SELECT gen_random_uuid(), 0, (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 250) n), key, ''
		FROM unnest('{a,a,NULL,NULL}'::text[]) key`)
	put(t, h.ob, "b", "next")
	h.hold(driver.FatePark, driver.FateWait, driver.FateDead, driver.FateRetry, driver.FateDelivered)
	require.Empty(t, h.pendingNow())
	parked, err := h.ob.Admin().Held(t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(t, err)
	require.Len(t, parked, 2)
	long := parked[0].Topic
	require.Len(t, long, 8000)
	require.Equal(t, 2, query1[int](t, h.db, "SELECT count(*) FROM leat.outbox_parked"))
	due, err := h.Due(t.Context(), 10, []string{long})
	require.NoError(t, err)
	require.Empty(t, due, "the topic is unavailable")
	due, err = h.Due(t.Context(), 10, []string{long[:255], strings.ToUpper(long)})
	require.NoError(t, err)
	require.Len(t, due, 1, "others are unavailable")
}
