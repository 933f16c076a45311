package pgheld_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

// holdWhileDropping lets a relay hold a record behind the last one of its key while
// people are dropping that one: they have looked, and have not committed.
func holdWhileDropping(t *testing.T, b *bench, s *pgheld.Statements) []string {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, b.hold(b.Statements, driver.FatePark))
	dropped, commit := make(chan struct{}), make(chan struct{})
	people := make(chan error, 1)
	go func() {
		people <- s.Locked(ctx, b.db.Pool, group, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "DELETE FROM leat.outbox_held WHERE key = 'k'")
			close(dropped)
			<-commit
			return err
		})
	}()
	<-dropped
	held := make(chan error, 1)
	go func() { held <- b.hold(s, driver.FateWait) }()
	var err error
	if waits(ctx, t, b, held) {
		close(commit)
		err = <-held
	} else {
		close(commit)
	}
	require.NoError(t, err)
	require.NoError(t, <-people)
	return b.states()
}

// waits reports whether the relay's connection waits for a lock; false once it is done.
func waits(ctx context.Context, t *testing.T, b *bench, held <-chan error) bool {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-held:
			require.NoError(t, err)
			return false
		case <-tick.C:
			var waiting bool
			require.NoError(t, b.db.Pool.QueryRow(ctx, "SELECT cardinality(pg_blocking_pids($1)) > 0", b.conn.PgConn().PID()).Scan(&waiting))
			if waiting {
				return true
			}
		}
	}
}

// TestO2_HoldAndDropTakeTurns: a record that waits for one that is being dropped is
// not forgotten.
func TestO2_HoldAndDropTakeTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.Equal(t, []string{"2 retry"}, holdWhileDropping(t, b, b.Statements))
}

// TestO2_WithoutTheLockAFollowerIsOrphaned is the negative control: it waits for
// good, and nothing of its key is ever sent again.
func TestO2_WithoutTheLockAFollowerIsOrphaned(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.Equal(t, []string{"2 wait"}, holdWhileDropping(t, b, b.WithoutLock()))
	due, err := b.Due(t.Context(), b.conn, group, pgheld.Share{Slots: 1}, 10, nil)
	require.NoError(t, err)
	require.Empty(t, due)
}

// TestO6_RedriveAndHoldTakeTurns: what people redrive,
// and what is held behind it meanwhile, stays in one line.
func TestO6_RedriveAndHoldTakeTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.hold(b.Statements, driver.FatePark))
	done := make(chan error, 1)
	go func() {
		_, err := b.Redrive(t.Context(), b.db.Pool, admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topic: "events", Key: "k", Limit: 1}})
		done <- err
	}()
	for range 20 {
		require.NoError(t, b.hold(b.Statements, driver.FateWait))
	}
	require.NoError(t, <-done)
	states := b.states()
	require.Equal(t, "1 retry", states[0])
	for _, s := range states[1:] {
		require.Contains(t, s, "wait")
	}
}

// TestDryRunKeepsNobodyWaiting: a dry run takes no turn, so that it waits for no relay and
// no relay for it.
func TestDryRunKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, b.hold(b.Statements, driver.FatePark))
	require.NoError(t, b.Locked(t.Context(), b.db.Pool, group, func(pgx.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // less than a lock is waited for
		defer cancel()
		would, err := b.Drop(ctx, b.db.Pool, admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topics: "*"}, DryRun: true})
		require.NoError(t, err)
		require.Equal(t, 1, would.Count)
		return nil
	}))
	require.Equal(t, []string{"1 parked"}, b.states())
}
