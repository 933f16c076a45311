package pgoutbox_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/race"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestCount_Memory measures how much a session allocates per record of 512 bytes while it drains a log,
// and how often the garbage collector runs. It guards the decoding of rows and the slab of a session:
// scanning rows into variables costs a dozen allocations per record; a slab that is too large, or one per
// window, causes collections.
func TestCount_Memory(t *testing.T) { //nolint:paralleltest // others would count, too
	if race.Enabled {
		t.Skip("the race detector allocates: make counts")
	}
	const records, size = 40_000, 5000
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `INSERT INTO leat.outbox (id, shard, topic, key, payload)
		SELECT gen_random_uuid(), i % 64, 'orders', 'customer-' || i % 1000, decode(repeat('00', 512), 'hex') FROM generate_series(1, 40000) i`)
	drain := func(s driver.Session, recycle bool) {
		n := 0
		for n < records {
			page, err := s.Read(t.Context(), size)
			require.NoError(t, err)
			n += len(page.Records)
			require.NoError(t, s.Advance(t.Context(), page, len(page.Records)))
			if recycle {
				s.(driver.Recycler).Recycle(page)
			}
		}
		require.Equal(t, records, n)
	}
	drain(acquire(t, ob, "first"), false)
	for _, c := range []struct {
		name              string
		recycle           bool
		mallocs, bytes, n float64
	}{
		{"kept", false, 0.025, 1000, 0.25},
		{"recycled", true, 0.025, 400, 0.1},
	} {
		session := acquire(t, ob, c.name)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		drain(session, c.recycle)
		runtime.ReadMemStats(&after)
		for _, c := range []struct {
			name    string
			n, most float64
		}{
			{"allocations a record", float64(after.Mallocs-before.Mallocs) / records, c.mallocs},
			{"bytes a record", float64(after.TotalAlloc-before.TotalAlloc) / records, c.bytes},
			{"collections a thousand records", float64(after.NumGC-before.NumGC) / (records / 1000), c.n},
		} {
			t.Logf("%s: %.3f", c.name, c.n)
			require.LessOrEqual(t, c.n, c.most, c.name)
		}
	}
}
