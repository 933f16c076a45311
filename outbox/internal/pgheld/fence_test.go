package pgheld_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

// resolveAsZombie gives a held record up although the lease was taken over, and
// returns what is held then.
func resolveAsZombie(t *testing.T, b *bench, s *pgheld.Statements) ([]string, error) {
	t.Helper()
	require.NoError(t, b.hold(b.Statements, driver.FateRetry))
	_, err := b.db.Pool.Exec(t.Context(), "UPDATE leat.outbox_leases SET owner = 'another', epoch = epoch + 1")
	require.NoError(t, err)
	_, err = s.Resolve(t.Context(), b.conn, b.lease,
		[]driver.Verdict{{Record: record(b.last), Fate: driver.FateDead}})
	return b.states(), err
}

// record is that of key k with number seq, as far as a verdict needs it.
func record(seq int64) *outbox.Record {
	r := &outbox.Record{Seq: seq}
	r.Topic, r.Key = "events", "k"
	return r
}

// TestO9_ZombieGivesNothingUp: what a zombie thinks of a record does not count.
func TestO9_ZombieGivesNothingUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	states, err := resolveAsZombie(t, b, b.Statements)
	require.ErrorIs(t, err, driver.ErrLeaseLost)
	require.Equal(t, []string{"1 retry"}, states)
	require.ErrorIs(t, b.hold(b.Statements, driver.FateWait), driver.ErrLeaseLost)
	require.Equal(t, []string{"1 retry"}, b.states())
}

// TestO9_WithoutTheFenceAZombieGivesUp is the negative control.
func TestO9_WithoutTheFenceAZombieGivesUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	states, err := resolveAsZombie(t, b, b.WithoutFence())
	require.NoError(t, err)
	require.Empty(t, states)
}

// TestO9_OwnerAndEpochAreOne: an epoch that was issued twice does not let another
// owner in.
func TestO9_OwnerAndEpochAreOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lease.Owner = "another"
	require.ErrorIs(t, b.hold(b.Statements, driver.FatePark), driver.ErrLeaseLost)
	b.lease.Owner = "owner"
	b.last--
	require.NoError(t, b.hold(b.Statements, driver.FatePark))
}

// TestO9_ForeignWindow: a window that the database does not know is not settled.
func TestO9_ForeignWindow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.ErrorIs(t, b.Hold(t.Context(), b.conn, b.lease, b.window.Move(b.lease, 1, 1), nil, nil), driver.ErrLeaseLost)
	require.Equal(t, byte('I'), b.conn.PgConn().TxStatus(), "the connection is free again")
}
