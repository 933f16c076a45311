package pgwindow_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// takeOver makes the lease of s another owner's and returns it.
func takeOver(t *testing.T, db *testenv.Database, s *stepper) pglease.Lease {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
	require.NoError(t, err)
	l, err := s.leases.Claim(t.Context(), db.Pool, s.lease.Slot, "successor", pglease.Former{}, ttl)
	require.NoError(t, err)
	require.Equal(t, s.lease.Epoch+1, l.Epoch)
	return l
}

// TestO9_StaleWriterIsRefused: after a takeover, every write of the former owner
// changes nothing, whenever it arrives.
func TestO9_StaleWriterIsRefused(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b")
	w := s.open()
	successor := takeOver(t, db, s)

	ctx := t.Context()
	require.ErrorIs(t, s.st.Advance(ctx, s.conn, s.lease, w.No, 2), driver.ErrLeaseLost)
	_, err := s.st.Open(ctx, s.conn, s.lease, w, 2)
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.ErrorIs(t, s.leases.Renew(ctx, s.conn, s.lease, ttl), driver.ErrLeaseLost)
	require.NoError(t, s.leases.Release(ctx, s.conn, s.lease), "releasing a lost lease is not an error")
	require.ErrorIs(t, s.leases.Renew(ctx, s.conn, pglease.Lease{
		Slot: s.lease.Slot, Owner: "stepper", Epoch: successor.Epoch,
	}, ttl), driver.ErrLeaseLost, "an epoch that was issued twice still tells owners apart")

	stored, err := s.st.Load(ctx, s.conn, s.lease.Slot)
	require.NoError(t, err)
	require.Equal(t, w, stored)
	require.NoError(t, s.leases.Renew(ctx, s.conn, successor, ttl), "the successor's lease was not touched")

	tag, err := s.conn.Exec(ctx, "UPDATE leat.outbox_positions SET last = 2 WHERE window_no = $1", w.No)
	require.NoError(t, err)
	require.EqualValues(t, 1, tag.RowsAffected(), "negative control: a write without the fence goes through")
}

// TestO12_LatePositionWriteIsRefused: a position write that arrives late finds
// another window, or a position that is ahead of it.
func TestO12_LatePositionWriteIsRefused(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a", "b", "c")
	w := s.open()
	ctx := t.Context()
	require.NoError(t, s.st.Advance(ctx, s.conn, s.lease, w.No, 2))
	require.ErrorIs(t, s.st.Advance(ctx, s.conn, s.lease, w.No, 1), driver.ErrLeaseLost, "it would go back")
	require.ErrorIs(t, s.st.Advance(ctx, s.conn, s.lease, w.No, 2), driver.ErrLeaseLost, "it is there already")
	next := s.open()
	_, err := s.st.Open(ctx, s.conn, s.lease, w, 3)
	require.ErrorIs(t, err, driver.ErrLeaseLost, "the window was finished already")

	stored, err := s.st.Load(ctx, s.conn, s.lease.Slot)
	require.NoError(t, err)
	require.Equal(t, next, stored)
	require.NoError(t, s.st.Advance(ctx, s.conn, s.lease, w.No, 3), "into a window that is over")
	stored, err = s.st.Load(ctx, s.conn, s.lease.Slot)
	require.NoError(t, err)
	require.Equal(t, next, stored, "… which moves nothing")
}

// TestO12_TwoOpensOfOneWindow: of two that follow the same window at the same
// time, one wins.
func TestO12_TwoOpensOfOneWindow(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	for range 20 {
		put(t, db, "a")
		f, w := s.probe().Sequence, s.w
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := s.st.Open(t.Context(), db.Pool, s.lease, w, f)
				results <- err
			}()
		}
		var lost int
		for range 2 {
			if err := <-results; err != nil {
				require.ErrorIs(t, err, driver.ErrLeaseLost)
				lost++
			}
		}
		require.Equal(t, 1, lost)
		var err error
		s.w, err = s.st.Load(t.Context(), s.conn, s.lease.Slot)
		require.NoError(t, err)
		require.Equal(t, w.No+1, s.w.No)
		require.Equal(t, []string{"a"}, s.rows(s.w))
	}
}

// TestO2_WaitingStatementHasAnOldTarget: an UPDATE that waits keeps the snapshot
// from before its wait, and reads the row as it is after it. The CHECK refuses
// the window that would come of it.
func TestO2_WaitingStatementHasAnOldTarget(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	put(t, db, "a")
	s.open()
	const wrong = "UPDATE leat.outbox_positions SET prev = target, target = pg_current_snapshot() WHERE window_no = 1"
	ctx := t.Context()

	rival := begin(t, db)
	_, err := rival.Exec(ctx, "SELECT FROM leat.outbox_positions WHERE window_no = 1 FOR UPDATE")
	require.NoError(t, err)
	waiting := db.Connect(t)
	result := make(chan error, 1)
	go func() {
		_, err := waiting.Exec(ctx, wrong)
		result <- err
	}()
	await(t, "the wrong form waits", func() bool { return blocked(t, db, waiting.PgConn().PID()) })
	put(t, db, "b")
	_, err = rival.Exec(ctx, wrong)
	require.NoError(t, err)
	rival.commit()

	var refused *pgconn.PgError
	require.ErrorAs(t, <-result, &refused)
	require.Equal(t, pgerr.CheckViolation, refused.Code)
}

// TestO12_OldWindowsGo: positions are kept for 64 windows.
func TestO12_OldWindowsGo(t *testing.T) {
	t.Parallel()
	db := newLog(t)
	s := newStepper(t, db)
	for range 70 {
		s.open()
	}
	var rows, oldest int64
	err := db.Pool.QueryRow(t.Context(), "SELECT count(*), min(window_no) FROM leat.outbox_positions").Scan(&rows, &oldest)
	require.NoError(t, err)
	require.EqualValues(t, 65, rows, "the newest and 64 before it")
	require.EqualValues(t, 6, oldest)
	w, err := s.st.Load(t.Context(), s.conn, s.lease.Slot)
	require.NoError(t, err)
	require.Equal(t, s.w, w)
	_, err = s.st.Load(t.Context(), s.conn, pglease.Slot{Group: "other"})
	require.ErrorIs(t, err, pgx.ErrNoRows)
}
