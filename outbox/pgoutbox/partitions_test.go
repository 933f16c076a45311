package pgoutbox_test

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// smallRanges returns an outbox whose log has ranges of ten messages.
func smallRanges(t *testing.T) (*pgoutbox.Outbox, *testenv.Database) {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	makeSmallRanges(t, db)
	return ob, db
}

func makeSmallRanges(t *testing.T, db *testenv.Database) {
	t.Helper()
	exec(t, db, `DROP TABLE leat.outbox_p1, leat.outbox_p2, leat.outbox_p3, leat.outbox_p4, leat.outbox_tail;
		CREATE TABLE leat.outbox_p1 PARTITION OF leat.outbox FOR VALUES FROM (MINVALUE) TO (11);
		CREATE TABLE leat.outbox_p2 PARTITION OF leat.outbox FOR VALUES FROM (11) TO (21);
		CREATE TABLE leat.outbox_tail PARTITION OF leat.outbox FOR VALUES FROM (21) TO (MAXVALUE)`)
}

// small returns a config of maintenance that fits smallRanges.
func small() pgoutbox.MaintenanceConfig {
	return pgoutbox.MaintenanceConfig{PartitionSize: 10, LockTimeout: 50 * time.Millisecond}
}

// putMany commits n messages of one key, with numbers beginning at from as payloads.
func putMany(t *testing.T, ob *pgoutbox.Outbox, from, n int) {
	t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(from + i)
	}
	put(t, ob, "k", names...)
}

// layout returns the ranges of the log, each as "table from to".
func layout(t *testing.T, db *testenv.Database) []string {
	t.Helper()
	return query1[[]string](t, db, `
		SELECT array_agg(c.relname || ' ' || substr(pg_get_expr(c.relpartbound, c.oid), 12) ORDER BY
			coalesce(substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \(''(\d+)')::bigint, 0))
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'leat.outbox'::regclass`)
}

// TestO2_PublishedLogHasRangesAhead: a logical replica lacks ranges that are made after it was set up, so
// a published log gets many in advance. A publication that goes by the log's name needs none.
func TestO2_PublishedLogHasRangesAhead(t *testing.T) {
	t.Parallel()
	for publication, added := range map[string]int{
		"FOR TABLE leat.outbox WITH (publish_via_partition_root = true)": 28,
		"FOR TABLE leat.outbox_p2 WITH (publish = 'insert')":             28,
		"FOR ALL TABLES":               28,
		"FOR TABLE leat.outbox_groups": 0,
		"FOR TABLE leat.outbox WITH (publish = 'insert', publish_via_partition_root = true)": 0,
	} {
		t.Run(publication, func(t *testing.T) {
			t.Parallel()
			ob, db := smallRanges(t)
			exec(t, db, "CREATE PUBLICATION p "+publication)
			m := maintenance(t, ob, small())
			require.Len(t, once(t, m).Added, added)
			require.Empty(t, once(t, m).Added)
		})
	}
}

// TestO2_RangesAreMadeAhead: new ranges are split off the open-ended range while it is empty.
func TestO2_RangesAreMadeAhead(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, small())
	once(t, m)
	require.Equal(t, []string{
		"outbox_p1 FROM (MINVALUE) TO ('11')", "outbox_p2 FROM ('11') TO ('21')",
		"outbox_tail FROM ('21') TO (MAXVALUE)",
	}, layout(t, db), "two are empty")

	putMany(t, ob, 1, 1)
	require.Equal(t, []string{"outbox_p3", "outbox_p4", "outbox_p5"}, once(t, m).Added)
	require.Equal(t, []string{
		"outbox_p1 FROM (MINVALUE) TO ('11')", "outbox_p2 FROM ('11') TO ('21')", "outbox_p3 FROM ('21') TO ('31')",
		"outbox_p4 FROM ('31') TO ('41')", "outbox_p5 FROM ('41') TO ('51')", "outbox_tail FROM ('51') TO (MAXVALUE)",
	}, layout(t, db))
	require.Empty(t, once(t, m).Added)
	putMany(t, ob, 2, 59)
	require.Len(t, readAll(t, acquire(t, ob, ""), 7), 60)
}

// TestO2_RelayDownForLong: no producer fails for lack of a range, however long no maintenance runs.
// Messages without a range of their own go to the open-ended range, which is closed above the sequence.
// Nothing is lost on the way, and each new range has every index.
func TestO2_RelayDownForLong(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, small())
	s := acquire(t, ob, "")
	want := 0
	for range 3 {
		putMany(t, ob, want, 77)
		report := once(t, m)
		require.Len(t, report.Added, 5, "the closed one and four ahead")
		ranges, err := ob.Admin().(admin.RangeLister).Ranges(t.Context())
		require.NoError(t, err)
		first := slices.IndexFunc(ranges, func(r admin.Range) bool { return r.Table == report.Added[0] })
		require.Greater(t, ranges[first].To, query1[int64](t, db, "SELECT max(seq) FROM leat.outbox")+10)
		for _, r := range readAll(t, s, 50) {
			require.Equal(t, strconv.Itoa(want), string(r.Payload))
			want++
		}
		require.Zero(t, want%77)
	}
	require.Equal(t, 231, stored(t, db))
	require.Zero(t, query1[int](t, db, `
		SELECT count(*) FROM pg_inherits i
		WHERE i.inhparent = 'leat.outbox'::regclass
		  AND (SELECT count(*) FROM pg_index x WHERE x.indrelid = i.inhrelid AND x.indisvalid) <> 3`))
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM pg_class WHERE relname LIKE 'outbox%next'"))
	require.Equal(t, 1, query1[int](t, db, `SELECT count(*) FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
		WHERE c.relkind = 'S' AND d.refobjid IN (SELECT inhrelid FROM pg_inherits UNION SELECT 'leat.outbox'::regclass)`),
		"one sequence for all")
}

// TestO2_LargeTailStaysOpen: an open-ended range that is too large to be closed while producers wait is
// left as it is, and reported.
func TestO2_LargeTailStaysOpen(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	cfg := small()
	cfg.MaxTailScan = 1
	cfg.Retention = time.Microsecond
	heard := &maintained{}
	cfg.Hooks = []outbox.Hook{heard}
	putMany(t, ob, 0, 50)
	readAll(t, acquire(t, ob, ""), 100)
	putMany(t, ob, 50, 1)
	report := once(t, maintenance(t, ob, cfg))
	require.Empty(t, report.Added)
	require.Len(t, report.Dropped, 2)
	require.EqualValues(t, 30, report.Deleted, "what is old in it is deleted")
	require.Len(t, report.Alarms, 2)
	require.Equal(t, pgoutbox.AlarmTailInUse, report.Alarms[0].Kind)
	require.Equal(t, "outbox_tail", report.Alarms[0].Detail)
	require.Contains(t, attr(report.Alarms[0], "range").Group(), slog.Int64("to_seq", math.MaxInt64))
	require.Equal(t, report.Alarms, heard.raised)
	require.Equal(t, 1, stored(t, db))
}

// TestO2_ProducersDoNotWaitForRanges: while one producer keeps its transaction open, other producers
// continue; each waits at most about LockTimeout.
func TestO2_ProducersDoNotWaitForRanges(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, small())
	open := begin(t, ob, db).put("held", "1")
	report := make(chan admin.MaintenanceReport, 1)
	go func() {
		r, err := m.RunOnce(t.Context())
		if err != nil {
			r.Busy = false
		}
		report <- r
	}()
	var worst time.Duration
	n := 0
	var busy admin.MaintenanceReport
	for done := false; !done; {
		began := time.Now()
		put(t, ob, fmt.Sprint("free ", n), "x")
		worst, n = max(worst, time.Since(began)), n+1
		select {
		case busy = <-report:
			done = true
		default:
		}
	}
	require.True(t, busy.Busy)
	require.Equal(t, pgoutbox.AlarmBusy, busy.Alarms[0].Kind)
	t.Logf("%d transactions beside the tries, the slowest in %s", n, worst)
	require.Less(t, worst, 3*time.Second, "LockTimeout is 50ms, on a machine that has other things to do")
	open.commit()
	require.NotEmpty(t, once(t, m).Added)
	require.Equal(t, n+1, stored(t, db))
}

// TestO2_DetachWithoutATransactionFailsProducers shows why DETACH and ATTACH are one transaction.
func TestO2_DetachWithoutATransactionFailsProducers(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	putMany(t, ob, 0, 25)
	exec(t, db, "ALTER TABLE leat.outbox DETACH PARTITION leat.outbox_tail")
	tx := begin(t, ob, db)
	require.ErrorContains(t, ob.Enqueue(t.Context(), tx.Tx, keyed("k", "x")...), pgerr.CheckViolation, "negative control: no partition found")
	tx.rollback()
	_, err := maintenance(t, ob, small()).RunOnce(t.Context())
	require.ErrorContains(t, err, "no open-ended range")
}

// TestO2_RangesUnderLoad makes and drops ranges under writers and a reader: nothing is
// lost and nothing fails.
func TestO2_RangesUnderLoad(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	cfg := small()
	cfg.Retention = time.Microsecond
	m := maintenance(t, ob, cfg)
	const writers, each = 4, 100
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := range each {
				tx, err := db.Pool.Begin(t.Context())
				if err == nil {
					err = ob.Enqueue(t.Context(), tx, keyed(strconv.Itoa(w), fmt.Sprintf("%d-%d", w, i))...)
				}
				if err == nil {
					err = tx.Commit(t.Context())
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	s := acquire(t, ob, "")
	next := map[string]int{}
	read := func() {
		for _, r := range readAll(t, s, 20) {
			require.Equal(t, fmt.Sprintf("%s-%d", r.Key, next[r.Key]), string(r.Payload))
			next[r.Key]++
		}
	}
	dropped := 0
	for running := writers; running > 0; {
		select {
		case err := <-errs:
			require.NoError(t, err)
			running--
		default:
		}
		read()
		dropped += len(once(t, m).Dropped)
	}
	read()
	for w := range writers {
		require.Equal(t, each, next[strconv.Itoa(w)])
	}
	require.Positive(t, dropped)
	t.Logf("%d ranges dropped, %d messages left", dropped, stored(t, db))
}
