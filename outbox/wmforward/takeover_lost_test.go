package wmforward_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// acquisition is what an Acquire in the background came to.
type acquisition struct {
	session driver.Session
	err     error
}

// goAcquire acquires a session that waits for the forwarder's lock, as one of waiting.
func goAcquire(t *testing.T, db *testenv.Database, waiting int) <-chan acquisition {
	t.Helper()
	src := newSource(t, db, wmforward.Config{TakeOverTimeout: testLease / 2})
	done := make(chan acquisition, 1)
	go func() {
		s, err := src.Acquire(t.Context(), testLease)
		done <- acquisition{s, err}
	}()
	require.Eventually(t, func() bool {
		return query1[int](t, db, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'`) == waiting
	}, patience, 2*time.Millisecond)
	return done
}

// atWork holds the forwarder's position, as a forwarder does that sends a batch.
func atWork(t *testing.T, db *testenv.Database) pgx.Tx {
	t.Helper()
	exec(t, db, "INSERT INTO watermill_offsets_forwarder_topic VALUES ('', 0, '0') ON CONFLICT DO NOTHING")
	tx, err := db.Connect(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM watermill_offsets_forwarder_topic FOR UPDATE")
	require.NoError(t, err)
	return tx
}

// TestO9_LostLeaseDoesNotFenceTheForwarder: a session whose lease ends while it waits for
// the forwarder leaves the forwarder's place to the one that has the lease.
func TestO9_LostLeaseDoesNotFenceTheForwarder(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "a", "b")
	forwarder := atWork(t, db)
	late := goAcquire(t, db, 1)
	exec(t, db, "UPDATE watermill_forwarder_topic_leat_leases SET lease_until = clock_timestamp() - interval '1 s'")
	next := goAcquire(t, db, 2)
	require.NoError(t, forwarder.Commit(t.Context()))

	lost := <-late
	require.ErrorIs(t, lost.err, driver.ErrLeaseLost)
	leads := <-next
	require.NoError(t, leads.err)
	require.Equal(t, []string{"a", "b"}, payloads(readAll(t, leads.session, 10)))
	require.NoError(t, leads.session.Release(t.Context()))
}

// TestO2_TakenOverMeanwhileByItsOwnGroup: a session that finds the forwarder put away by
// the session before it goes on where that one began.
func TestO2_TakenOverMeanwhileByItsOwnGroup(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, "", "a", "b")
	forwarder := atWork(t, db)
	next := goAcquire(t, db, 1)
	for _, sql := range []string{
		`INSERT INTO watermill_forwarder_topic_leat_positions
			(relay_group, slot, window_no, prev, target, floor, next_floor, source_floor, last, owner, epoch, system_identifier)
			SELECT 'default', 0, 0, '3:3:', '3:3:', 0, 0, 0, 0, 'the one before', 1, system_identifier FROM pg_control_system()`,
		"UPDATE watermill_offsets_forwarder_topic SET last_processed_transaction_id = '18446744073709551615'",
	} {
		_, err := forwarder.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.NoError(t, forwarder.Commit(t.Context()))
	leads := <-next
	require.NoError(t, leads.err)
	require.Equal(t, []string{"a", "b"}, payloads(readAll(t, leads.session, 10)))
	require.NoError(t, leads.session.Release(t.Context()))
}

// TestAcquire_RefusesToWaitForLongerThanItsLease names both numbers.
func TestAcquire_RefusesToWaitForLongerThanItsLease(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	src := newSource(t, db, wmforward.Config{TakeOverTimeout: 20 * time.Second})
	_, err := src.Acquire(t.Context(), 20*time.Second)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	require.ErrorContains(t, err, "TakeOverTimeout")
	require.ErrorContains(t, err, "must be less than the lease, 20s")
	s, err := src.Acquire(t.Context(), 21*time.Second)
	require.NoError(t, err)
	require.NoError(t, s.Release(t.Context()))
}
