package pgoutbox_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO2_RetentionOfAQuietService: a retention of a week holds from the first day on, whatever the length
// of a range. D5.
func TestO2_RetentionOfAQuietService(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{LockTimeout: 50 * time.Millisecond})
	const days, each = 20, 3
	dropped := 0
	for day := range days {
		age(t, db, "24 h", m)
		putMany(t, ob, day*each, each)
		settle(t, s)
		report := once(t, m)
		dropped += len(report.Dropped)
		require.Less(t, len(layout(t, db)), 20)
		require.LessOrEqual(t, stored(t, db), 9*each, "day %d", day)
		if day < 7 {
			require.Equal(t, (day+1)*each, stored(t, db), "nothing goes before its time")
		}
	}
	require.Greater(t, dropped, 4)
	require.Less(t, query1[float64](t, db, "SELECT extract(epoch FROM now() - min(created_at)) / 86400 FROM leat.outbox"), 8.1)
	require.Less(t, statsOf(t, ob).Bytes, int64(4<<20), "the room is given back")
}

// TestO2_SizeFromTheFirstDay: the log keeps to MaxBytes even while no range is full. D5.
func TestO2_SizeFromTheFirstDay(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	const most = 8 << 20
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{MaxBytes: most, LockTimeout: 50 * time.Millisecond})
	payload := make([]byte, 600<<10)
	_, err := rand.Read(payload)
	require.NoError(t, err)
	for range 15 {
		put(t, ob, "k", string(payload), string(payload))
		settle(t, s)
		once(t, m)
		require.Less(t, statsOf(t, ob).Bytes, int64(most+most/4))
	}
	require.Greater(t, statsOf(t, ob).Bytes, int64(most/2), "and to no less")
}

// TestO2_OldLogIsClosed: a first range that has been in use for months is closed by the first round, and
// dropped when its youngest message is old enough. D5.
func TestO2_OldLogIsClosed(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := acquire(t, ob, "")
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{})
	putMany(t, ob, 0, 5)
	age(t, db, "90 days")
	putMany(t, ob, 5, 5)
	settle(t, s)
	report := once(t, m)
	require.Equal(t, []string{"outbox_p1"}, report.Closed)
	require.Empty(t, report.Dropped)
	require.Empty(t, once(t, m).Closed, "the next one is empty")
	putMany(t, ob, 10, 1)
	require.EqualValues(t, 10_000_001, statsOf(t, ob).LastSeq)
	age(t, db, "7 days 1 s", m)
	putMany(t, ob, 11, 1)
	require.Len(t, readAll(t, s, 10), 2)
	report = once(t, m)
	require.Equal(t, []string{"outbox_p2"}, report.Closed)
	require.Equal(t, []string{"outbox_p1"}, report.Dropped, "the youngest of p2 is new")

	kept := pgoutbox.MaintenanceConfig{Retention: -1}
	age(t, db, "90 days")
	putMany(t, ob, 12, 1)
	require.Empty(t, once(t, maintenance(t, ob, kept)).Closed, "what is kept for ever needs no new ranges")
	kept = pgoutbox.MaintenanceConfig{NoDDL: true}
	require.Empty(t, once(t, maintenance(t, ob, kept)).Closed, "what is deleted neither")
}

// TestO2_RangeWithAWriterIsNotClosed: the sequence is not moved while a producer may draw a number from
// it; otherwise numbers could be drawn twice. D5.
func TestO2_RangeWithAWriterIsNotClosed(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{LockTimeout: 10 * time.Millisecond})
	putMany(t, ob, 0, 5)
	age(t, db, "2 days")
	open := begin(t, ob, db).put("other", "x")
	report := once(t, m)
	require.True(t, report.Busy)
	require.Empty(t, report.Closed)
	require.EqualValues(t, 6, statsOf(t, ob).LastSeq)
	open.commit()
	require.Len(t, once(t, m).Closed, 1)
	require.EqualValues(t, 10_000_000, statsOf(t, ob).LastSeq)
	require.Equal(t, 6, stored(t, db))
}

// TestO2_O5_RangesAreClosedUnderLoad closes ranges under writers and a reader: no number is
// drawn twice, nothing is lost, and each key stays in order. D5.
func TestO2_O5_RangesAreClosedUnderLoad(t *testing.T) {
	t.Parallel()
	ob, _ := smallRanges(t)
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{PartitionSize: 1000, Retention: -1, LockTimeout: 20 * time.Millisecond})
	const writers, each, wanted = 4, 25, 5
	s := acquire(t, ob, "")
	next := map[string]int{}
	closed, sent := 0, 0
	for closed < wanted {
		errs := make(chan error, writers)
		for w := range writers {
			go func() {
				var err error
				for i := sent; i < sent+each && err == nil; i++ {
					err = ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
						return ob.Enqueue(ctx, tx, keyed(strconv.Itoa(w), fmt.Sprintf("%d-%d", w, i))...)
					})
				}
				errs <- err
			}()
		}
		once(t, m)
		done, err := pgoutbox.CloseOnce(t.Context(), m)
		closed += len(done)
		for range writers {
			err = errors.Join(err, <-errs)
		}
		require.NoError(t, err)
		sent += each
		for _, r := range readAll(t, s, 20) {
			require.Equal(t, fmt.Sprintf("%s-%d", r.Key, next[r.Key]), string(r.Payload))
			next[r.Key]++
		}
	}
	for w := range writers {
		require.Equal(t, sent, next[strconv.Itoa(w)])
	}
}
