package pgoutbox_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// largeTable is the number of messages in a table whose history is dropped.
const largeTable = 200_000

// TestO2_RetentionOfALargeTable drops the history of a large table, range by range and chunk by chunk,
// while producers write without having to wait for it.
//
//leat:level 4
func TestO2_RetentionOfALargeTable(t *testing.T) {
	t.Parallel()
	for name, noDDL := range map[string]bool{"drop": false, "delete": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			exec(t, db, fmt.Sprintf(`
				DROP TABLE leat.outbox_p1, leat.outbox_p2, leat.outbox_p3, leat.outbox_p4, leat.outbox_tail;
				CREATE TABLE leat.outbox_p1 PARTITION OF leat.outbox FOR VALUES FROM (MINVALUE) TO (%d);
				CREATE TABLE leat.outbox_p2 PARTITION OF leat.outbox FOR VALUES FROM (%[1]d) TO (%d);
				CREATE TABLE leat.outbox_tail PARTITION OF leat.outbox FOR VALUES FROM (%[2]d) TO (MAXVALUE)`,
				largeTable/2+1, largeTable+1))
			fill(t, db, largeTable)
			settleAll(t, acquire(t, ob, ""))
			m := maintenance(t, ob, pgoutbox.MaintenanceConfig{
				PartitionSize: largeTable / 2, Retention: 30 * time.Minute, LockTimeout: 100 * time.Millisecond, NoDDL: noDDL,
			})

			began := time.Now()
			stop := produce(t, ob, db, 4)
			report := once(t, m)
			took := time.Since(began)
			latencies := stop()
			if noDDL {
				require.EqualValues(t, largeTable, report.Deleted)
			} else {
				require.Len(t, report.Dropped, 2)
				require.GreaterOrEqual(t, len(report.Added), 4, "one more where the open-ended range is in use by now")
			}
			require.Equal(t, len(latencies), stored(t, db))
			slices.Sort(latencies)
			worst := latencies[len(latencies)-1]
			t.Logf("%d messages gone in %s; beside it %d transactions, median %s, p99 %s, slowest %s", largeTable, took,
				len(latencies), latencies[len(latencies)/2], latencies[len(latencies)*99/100], worst)
			// As a part of the whole work, since nobody knows how busy the machine is.
			require.Less(t, latencies[len(latencies)*99/100], max(500*time.Millisecond, took/2))
			require.Less(t, worst, max(10*time.Second, took), "less than a lock of the whole work")
		})
	}
}

// produce enqueues in n concurrent transactions until it is stopped, and returns how long each took.
func produce(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, n int) (stop func() []time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		latencies []time.Duration
		err       error
	}
	results := make(chan result, n)
	for i := range n {
		conn := db.Connect(t)
		go func() {
			var r result
			for ctx.Err() == nil && r.err == nil {
				began := time.Now()
				tx, err := conn.Begin(t.Context())
				if err == nil {
					err = ob.Enqueue(t.Context(), tx, keyed(strconv.Itoa(i), "x")...)
				}
				if err == nil {
					err = tx.Commit(t.Context())
				}
				r.latencies, r.err = append(r.latencies, time.Since(began)), err
			}
			results <- r
		}()
	}
	return func() []time.Duration {
		cancel()
		var all []time.Duration
		for range n {
			r := <-results
			require.NoError(t, r.err)
			all = append(all, r.latencies...)
		}
		return all
	}
}
