package pgwindow_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

func preparedChain(t *testing.T) *pgwindow.Chain {
	t.Helper()
	c, err := pgwindow.PrepareChain(ours())
	require.NoError(t, err)
	return c
}

// beginGroup starts a group with one slot and returns a reader of it.
func beginGroup(t *testing.T, db *testenv.Database, group string, at pgwindow.Begin, when time.Time) *stepper {
	t.Helper()
	c, st := preparedChain(t), prepared(t)
	require.NoError(t, c.List(t.Context(), db.Pool, group, 1, nil))
	o, err := c.Outset(t.Context(), db.Pool, st, at, when)
	require.NoError(t, err)
	require.NoError(t, c.Begin(t.Context(), db.Pool, group, "test", o))
	return readerOf(t, db, group)
}

// readerOf returns a reader of a group that has a position.
func readerOf(t *testing.T, db *testenv.Database, group string) *stepper {
	t.Helper()
	st := prepared(t)
	s := &stepper{
		t: t, st: st, leases: preparedLeases(t), conn: db.Connect(t),
		page: statement(t, ours(), "page"), early: statement(t, ours(), "page_early"),
	}
	var err error
	slot := pglease.Slot{Group: group}
	s.lease, err = s.leases.Claim(t.Context(), s.conn, slot, "stepper", pglease.Former{}, ttl)
	require.NoError(t, err)
	s.facts, err = st.Facts(t.Context(), s.conn)
	require.NoError(t, err)
	s.load()
	return s
}

// all returns the rows of window 0, once, and of all windows that can be opened.
func (s *stepper) all() []string {
	s.t.Helper()
	var rows []string
	if s.w.No == 0 {
		rows = s.first()
		s.w.Last = math.MaxInt64
	}
	_, more := s.opened()
	return append(rows, more...)
}

// TestO2_BeginNow: what was committed before is left out; nothing else is, however
// long it was under way.
func TestO2_BeginNow(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	put(t, db, "before")
	drawn, xidOnly := begin(t, db).put("drawn"), begin(t, db)
	xidOnly.xid()
	put(t, db, "before too")
	s := beginGroup(t, db, "now", pgwindow.BeginNow, time.Time{})
	require.Empty(t, s.all())
	put(t, db, "after")
	drawn.put("drawn 2").commit()
	require.ElementsMatch(t, []string{"after", "drawn", "drawn 2"}, s.all())
	xidOnly.put("late").commit()
	require.Equal(t, []string{"late"}, s.all())
}

// TestO2_BeginNow_FloorReadTooLateLoses is why a transaction with an xid ends
// between the floor and the snapshot.
func TestO2_BeginNow_FloorReadTooLateLoses(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	for round := range 100 {
		group := fmt.Sprint("wrong ", round)
		require.NoError(t, preparedChain(t).List(t.Context(), db.Pool, group, 1, nil))
		late := begin(t, db).put("late")
		xid := late.xid()
		beginWithoutMark(t, db, group)
		wrong := readerOf(t, db, group)
		unseen := wrong.w.Target.Xmax <= xid
		ours := beginGroup(t, db, fmt.Sprint("ours ", round), pgwindow.BeginNow, time.Time{})
		require.Greater(t, ours.w.Target.Xmax, xid, "listed as under way")
		late.commit()
		require.Equal(t, []string{"late"}, ours.all())
		if unseen {
			require.Empty(t, wrong.all(), "negative control: the number is at or below the floor, the xid in no list")
			return
		}
	}
	require.Fail(t, "the cluster was never quiet")
}

// beginWithoutMark is the wrong form: the floor is read, and the snapshot taken.
func beginWithoutMark(t *testing.T, db *testenv.Database, group string) {
	t.Helper()
	st := prepared(t)
	f, err := st.Facts(t.Context(), db.Pool)
	require.NoError(t, err)
	p, err := st.Probe(t.Context(), db.Pool, f.Sequence, pgwindow.NoWindow())
	require.NoError(t, err)
	_, err = db.Pool.Exec(t.Context(), chainStatement(t, "chain_begin_now"), group, "wrong", f.SystemIdentifier, p.Sequence, p.Sequence)
	require.NoError(t, err)
}

// TestO2_BeginAt begins at a time: what was written since then is read, and what
// was still under way whenever it was written.
func TestO2_BeginAt(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	put(t, db, "old")
	slow := begin(t, db).put("slow")
	var at time.Time
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&at))
	put(t, db, "1", "2")
	s := beginGroup(t, db, "at", pgwindow.BeginAt, at)
	require.Equal(t, []string{"1", "2"}, s.all())
	slow.commit()
	put(t, db, "3")
	require.ElementsMatch(t, []string{"slow", "3"}, s.all())

	none := beginGroup(t, db, "ahead", pgwindow.BeginAt, time.Now().Add(time.Hour))
	require.True(t, none.w.Empty())
	require.Empty(t, none.all())
	put(t, db, "4")
	require.Equal(t, []string{"4"}, none.all())
}

// TestO2_BeginAt_LookedUpBeforeTheSnapshotLoses is why both are one statement: a row
// that was written earlier, with a lower number, becomes visible in between.
func TestO2_BeginAt_LookedUpBeforeTheSnapshotLoses(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	slow := begin(t, db).put("slow")
	at := time.Now().Add(-time.Hour)
	put(t, db, "1")
	var first int64
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT min(seq) FROM leat.outbox WHERE created_at >= $1", at).Scan(&first))
	slow.commit()
	wrong := beginGroup(t, db, "wrong", pgwindow.BeginNow, time.Time{})
	wrong.w.Prev, wrong.w.Floor, wrong.w.Last = pgwindow.NoWindow().Prev, 0, first-1
	require.Equal(t, []string{"1"}, wrong.all(), "negative control")
	require.Equal(t, []string{"slow", "1"}, beginGroup(t, db, "ours", pgwindow.BeginAt, at).all())
}

// TestO2_BeginAt_AnyTime: by halves, the same place is found as by a look at every row.
func TestO2_BeginAt_AnyTime(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	_, err := db.Pool.Exec(t.Context(), `
		INSERT INTO leat.outbox (id, shard, topic, payload, created_at)
		SELECT gen_random_uuid(), 0, 'events', convert_to(i::text, 'UTF8'),
		       timestamptz '2026-01-01' + i * interval '10 s' + (i % 5) * interval '12 s' -- out of order by less than a minute
		FROM generate_series(1, 500) i;
		DELETE FROM leat.outbox WHERE seq BETWEEN 100 AND 200`)
	require.NoError(t, err)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, after := range []time.Duration{-time.Hour, 10 * time.Second, 11 * time.Minute, 17 * time.Minute, 25 * time.Minute, 34 * time.Minute, 2 * time.Hour} {
		at := start.Add(after)
		rows, err := db.Pool.Query(t.Context(), `
			SELECT convert_from(payload, 'UTF8') FROM leat.outbox
			WHERE seq >= (SELECT min(seq) FROM leat.outbox WHERE created_at >= $1) ORDER BY seq`, at)
		require.NoError(t, err)
		want, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		got := beginGroup(t, db, fmt.Sprint("at ", i), pgwindow.BeginAt, at).all()
		require.Equal(t, want, append([]string{}, got...), after)
	}
}

// TestO2_Begin_AmongWriters starts groups while slow and fast transactions write,
// and asks each for all that was committed after it had started.
func TestO2_Begin_AmongWriters(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(chan struct{})
	for i := range 6 {
		conn := db.Connect(t)
		wg.Go(func() {
			for n := 0; ctx.Err() == nil && !closed(stop); n++ {
				_ = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					if i%2 == 0 {
						_, _ = tx.Exec(ctx, "SELECT pg_current_xact_id()")
					}
					_, _ = tx.Exec(ctx, putStatement("leat.outbox"), fmt.Sprint(i, " ", n))
					_, err := tx.Exec(ctx, "SELECT pg_sleep($1)", float64(i)*0.001)
					return err
				})
			}
		})
	}
	type start struct {
		*stepper

		began string // the target of window 0
		got   []string
	}
	var starts []*start
	for i := range 12 {
		at := []pgwindow.Begin{pgwindow.BeginNow, pgwindow.BeginAt, pgwindow.BeginOldest}[i%3]
		x := &start{stepper: beginGroup(t, db, fmt.Sprint("g", i), at, time.Now())}
		x.began, x.got = x.w.Target.Text, x.first()
		starts = append(starts, x)
		for _, y := range starts {
			y.got = append(y.got, y.rows(y.open())...)
		}
	}
	close(stop)
	wg.Wait()
	for i, x := range starts {
		_, rest := x.opened()
		got := slices.Concat(x.got, rest)
		unique := slices.Compact(slices.Sorted(slices.Values(got)))
		require.Len(t, unique, len(got), "group %d reads a row twice", i)
		require.Empty(t, x.lost(x.began, got), "group %d", i)
	}
}

// first returns the rows of window 0.
func (s *stepper) first() []string {
	s.t.Helper()
	if s.w.Empty() {
		return nil
	}
	return s.read(s.conn, s.page, s.w.Prev.Text, s.w.Target.Text, max(s.w.Floor, s.w.Last), 1_000_000)
}

// lost are the rows that the snapshot does not see and got has not.
func (s *stepper) lost(snapshot string, got []string) []string {
	s.t.Helper()
	rows, err := s.conn.Query(s.t.Context(), `
		SELECT convert_from(payload, 'UTF8') FROM leat.outbox
		WHERE NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)
		EXCEPT SELECT unnest($2::text[])`, snapshot, got)
	require.NoError(s.t, err)
	lost, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	return lost
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func chainStatement(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile("sql/" + file + ".sql")
	require.NoError(t, err)
	sql, err := ours().Render(string(raw))
	require.NoError(t, err)
	return sql
}
