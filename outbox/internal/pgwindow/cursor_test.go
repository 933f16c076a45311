package pgwindow_test

import (
	"math"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// idCursor is the wrong form that every hand-made outbox starts with.
type idCursor struct{ last int64 }

func (c *idCursor) next(t *testing.T, db *testenv.Database) []string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(),
		"SELECT seq, convert_from(payload, 'UTF8') FROM leat.outbox WHERE seq > $1 ORDER BY seq", c.last)
	require.NoError(t, err)
	var all []string
	var payload string
	_, err = pgx.ForEachRow(rows, []any{&c.last, &payload}, func() error {
		all = append(all, payload)
		return nil
	})
	require.NoError(t, err)
	return all
}

// xidCursor reads in the order of xid, up to the oldest transaction that is
// under way anywhere in the cluster, unless it is hasty.
type xidCursor struct {
	xid, seq int64
	hasty    bool
}

func (c *xidCursor) next(t *testing.T, db *testenv.Database) []string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), `
		SELECT xid::text::bigint, seq, convert_from(payload, 'UTF8') FROM leat.outbox
		WHERE (xid, seq) > ($1::bigint::text::xid8, $2::bigint) AND ($3 OR xid < pg_snapshot_xmin(pg_current_snapshot()))
		ORDER BY xid, seq`, c.xid, c.seq, c.hasty)
	require.NoError(t, err)
	var all []string
	var payload string
	_, err = pgx.ForEachRow(rows, []any{&c.xid, &c.seq, &payload}, func() error {
		all = append(all, payload)
		return nil
	})
	require.NoError(t, err)
	return all
}

// TestO2_IDCursorLosesTheLateCommitter: a number is drawn early and committed
// late.
func TestO2_IDCursorLosesTheLateCommitter(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	var wrong idCursor
	late := begin(t, db).put("late")
	put(t, db, "early")
	require.Equal(t, []string{"early"}, wrong.next(t, db))
	_, rows := s.opened()
	require.Equal(t, []string{"early"}, rows)
	late.commit()
	require.Empty(t, wrong.next(t, db), "negative control: lost for ever")
	_, rows = s.opened()
	require.Equal(t, []string{"late"}, rows)
}

// TestO5_OrderByXidInvertsAKey: a transaction draws its xid early, for another
// table, and locks its aggregate late, after one that began later.
func TestO5_OrderByXidInvertsAKey(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	early := begin(t, db)
	first := early.xid()
	later := begin(t, db)
	require.Less(t, first, later.xid())
	later.put("paid")
	later.commit()
	early.put("shipped") // sees "paid" committed
	early.commit()

	wrong := xidCursor{hasty: true} // all that matters here has ended, whatever other tests are at
	require.Equal(t, []string{"shipped", "paid"}, wrong.next(t, db), "negative control")
	_, rows := s.opened()
	require.Equal(t, []string{"paid", "shipped"}, rows)
}

// TestO11_XminHorizonStalls: what reads up to the oldest transaction waits for
// all that is under way, whatever it does and wherever.
func TestO11_XminHorizonStalls(t *testing.T) {
	t.Parallel()
	db, elsewhere := newLog(t), testenv.Postgres(t)
	s := newStepper(t, db)
	foreign := begin(t, elsewhere)
	defer foreign.rollback()
	foreign.xid()
	put(t, db, "a")
	require.Empty(t, (&xidCursor{}).next(t, db), "negative control")
	_, rows := s.opened()
	require.Equal(t, []string{"a"}, rows)
}

// TestO2_FinishingOnAFullPageLosesTheTail: only a page that is not full ends a
// window.
func TestO2_FinishingOnAFullPageLosesTheTail(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b", "c")
	w := s.open()
	page := s.read(s.conn, s.page, w.Prev.Text, w.Target.Text, w.Floor, 2)
	require.Equal(t, []string{"a", "b"}, page)

	_, rows := s.opened()
	require.Empty(t, rows, "negative control: the window is taken for finished, and c never comes")
	require.Empty(t, s.rows(s.open()))
	require.Equal(t, []string{"a", "b", "c"}, s.rows(w))
}

// TestO2_PageInAnOlderTransactionLoses: a page that runs in a REPEATABLE READ
// transaction from before the window misses what its target sees.
func TestO2_PageInAnOlderTransactionLoses(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	old, err := db.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { require.NoError(t, old.Rollback(t.Context())) }()
	var one int
	require.NoError(t, old.QueryRow(t.Context(), "SELECT 1").Scan(&one)) // takes its snapshot
	put(t, db, "a")
	w := s.open()
	require.Empty(t, s.rowsOn(old, w), "negative control: a short page, and the window counts as read")
	require.Equal(t, []string{"a"}, s.rows(w))
}

// TestO2_LastValueIsReadUnderTheLock races the two ways to read a sequence. The
// unlocked one can show a number that is drawn later; the other never does.
func TestO2_LastValueIsReadUnderTheLock(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	const draws = 20_000
	drawer := db.Connect(t)
	done := make(chan error, 1)
	go func() {
		_, err := drawer.Exec(t.Context(),
			"SELECT count(nextval('leat.outbox_seq_seq')) FROM generate_series(1, $1::int)", draws)
		done <- err
	}()
	reader := db.Connect(t)
	read := func(sql string) int64 {
		var v int64
		require.NoError(t, reader.QueryRow(t.Context(), sql).Scan(&v))
		return v
	}
	const locked = "SELECT coalesce(pg_sequence_last_value('leat.outbox_seq_seq'), 0)"
	var ahead, worst int64
	for running := true; running; {
		select {
		case err := <-done:
			require.NoError(t, err)
			running = false
		default:
		}
		before := read(locked)
		wrong := read("SELECT last_value FROM leat.outbox_seq_seq")
		after := read(locked)
		require.LessOrEqual(t, before, after)
		if wrong > after && after > 0 {
			ahead, worst = ahead+1, max(worst, wrong-after)
		}
	}
	require.EqualValues(t, draws, read(locked))
	t.Logf("SELECT last_value was ahead of the sequence %d times, by up to %d", ahead, worst)
}

// TestO4_SnapshotsAreParsedAsWritten compares the parser with the server.
func TestO4_SnapshotsAreParsedAsWritten(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	a, b := begin(t, db), begin(t, db)
	defer b.rollback()
	xa, xb := a.xid(), b.xid()
	put(t, db, "raise xmax")
	var text string
	current := func() pgwindow.Snapshot {
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT pg_current_snapshot()::text").Scan(&text))
		snapshot, err := pgwindow.ParseSnapshot(text)
		require.NoError(t, err)
		return snapshot
	}
	before := current()
	require.Contains(t, before.Xip, xa)
	require.Contains(t, before.Xip, xb)
	require.Greater(t, before.Xmax, xb)
	require.Less(t, before.Xmax, uint64(math.MaxInt64))
	a.rollback()
	after := current()
	require.NotContains(t, after.Xip, xa)
	require.Contains(t, after.Xip, xb)
	require.True(t, before.EndedBy(after))
}
