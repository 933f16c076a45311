package wmforward_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// takesOverWhereTheForwarderStands: it has sent five of nine messages,
// the last two from the middle of a transaction.
func takesOverWhereTheForwarderStands(t *testing.T, db *testenv.Database) {
	t.Helper()
	for i := range 3 {
		put(t, db, "", fmt.Sprintf("m%d", 3*i), fmt.Sprintf("m%d", 3*i+1), fmt.Sprintf("m%d", 3*i+2))
	}
	to := newRecorder(5)
	stop := startForwarder(t, db, to, 1)
	require.Equal(t, []string{"m0", "m1", "m2", "m3", "m4"}, to.next(t, 5))
	awaitPosition(t, db, 5)
	stop()

	src := newSource(t, db, wmforward.Config{})
	require.Equal(t, []string{"m5", "m6", "m7", "m8"}, drain(t, src))
	put(t, db, "", "m9")
	require.Equal(t, []string{"m9"}, drain(t, src))

	again := newRecorder(100)
	startForwarder(t, db, again, 100)
	put(t, db, "", "m10")
	require.Equal(t, []string{"m10"}, drain(t, src))
	again.silent(t)
}

// shadowLeavesTheForwarderAlone is also the negative control: without the
// fence everything is sent twice.
func shadowLeavesTheForwarderAlone(t *testing.T, db *testenv.Database) {
	t.Helper()
	put(t, db, "", "a", "b")
	to := newRecorder(100)
	startForwarder(t, db, to, 100)
	require.Equal(t, []string{"a", "b"}, to.next(t, 2))
	awaitPosition(t, db, 2)
	put(t, db, "", "c")
	require.Equal(t, []string{"c"}, to.next(t, 1))
	awaitPosition(t, db, 3)

	shadow := newSource(t, db, wmforward.Config{Shadow: true, Group: "trial"})
	require.Empty(t, drain(t, shadow))
	put(t, db, "", "d")
	require.Equal(t, []string{"d"}, drain(t, shadow))
	require.Equal(t, []string{"d"}, to.next(t, 1))
	_, err := shadow.HandBack(t.Context())
	require.ErrorIs(t, err, wmforward.ErrNothingToHandBack)
}

// takesOverFromARunningForwarder: under traffic, every message is sent
// once, by one or the other.
func takesOverFromARunningForwarder(t *testing.T, db *testenv.Database) {
	t.Helper()
	to := newRecorder(100_000)
	startForwarder(t, db, to, 7)
	taken, done := make(chan struct{}), make(chan produced, 1)
	go func() { done <- produceUntil(t.Context(), db, taken) }()
	sent := to.next(t, 30)
	s := acquire(t, newSource(t, db, wmforward.Config{TakeOverTimeout: testLease / 2}))
	close(taken)
	sent = append(sent, to.rest()...) // what it sends, it sends under the lock
	var ours []string
	var total produced
	for total.n == 0 {
		select {
		case total = <-done:
			require.NoError(t, total.err)
		default:
		}
		ours = append(ours, payloads(readAll(t, s, 50))...)
	}
	to.silent(t)
	both := slices.Sorted(slices.Values(append(sent, ours...)))
	require.Len(t, both, total.n)
	require.Len(t, slices.Compact(both), total.n, "one was sent twice, and one lost")
	require.Greater(t, len(ours), 50)
}

// produced is what produceUntil has committed.
type produced struct {
	n   int
	err error
}

// produceUntil commits three messages at a time until taken is closed, and then
// some.
func produceUntil(ctx context.Context, db *testenv.Database, taken <-chan struct{}) produced {
	n := 0
	for more := 20; more > 0; n += 3 {
		select {
		case <-taken:
			more--
		default:
		}
		err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			return tryPublish(tx, "events", texts("", strconv.Itoa(n), strconv.Itoa(n+1), strconv.Itoa(n+2))...)
		})
		if err != nil {
			return produced{n, err}
		}
	}
	return produced{n, nil}
}

// waitsForTheForwardersBatch: while a forwarder holds its position, with a
// message that it cannot deliver, a source does not begin.
func waitsForTheForwardersBatch(t *testing.T, db *testenv.Database) {
	t.Helper()
	put(t, db, "", "a", "b")
	to := newRecorder(1)
	stop := startForwarder(t, db, to, 100)
	require.Equal(t, []string{"a"}, to.next(t, 1))

	src := newSource(t, db, wmforward.Config{TakeOverTimeout: 50 * time.Millisecond})
	_, err := src.Acquire(t.Context(), testLease)
	require.ErrorIs(t, err, wmforward.ErrForwarderRunning)
	require.NotErrorIs(t, err, driver.ErrSourceUnusable, "a relay tries again")
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM watermill_forwarder_topic_leat_positions"))

	stop()
	require.Subset(t, drain(t, src), []string{"b"})
}

// TestO2_RefusesAPositionThatItCannotContinue: a fence of another group, and
// transactions that this cluster has not had.
func TestO2_RefusesAPositionThatItCannotContinue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup string
		want  string
	}{
		"taken over by another": {
			"UPDATE watermill_offsets_forwarder_topic SET last_processed_transaction_id = '18446744073709551615'", "taken over already",
		},
		"of another cluster": {
			"UPDATE watermill_offsets_forwarder_topic SET last_processed_transaction_id = '900000000000', offset_acked = 5", "another database cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			exec(t, db, "INSERT INTO watermill_offsets_forwarder_topic VALUES ('', 0, '0')")
			exec(t, db, c.setup)
			_, err := newSource(t, db, wmforward.Config{}).Acquire(t.Context(), testLease)
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// putsAForwarderAwayAgain that somebody has set going by hand.
func putsAForwarderAwayAgain(t *testing.T, db *testenv.Database) {
	t.Helper()
	src := newSource(t, db, wmforward.Config{})
	put(t, db, "", "a")
	require.Equal(t, []string{"a"}, drain(t, src))
	exec(t, db, "UPDATE watermill_offsets_forwarder_topic SET last_processed_transaction_id = '0'")
	require.Empty(t, drain(t, src))
	to := newRecorder(100)
	startForwarder(t, db, to, 100)
	to.silent(t)
}

// TestO2_StartsAtTheFirstRow where no forwarder has ever run.
func TestO2_StartsAtTheFirstRow(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]string{
		"no table":     "DROP TABLE watermill_offsets_forwarder_topic",
		"no row":       "DELETE FROM watermill_offsets_forwarder_topic",
		"zero offsets": "INSERT INTO watermill_offsets_forwarder_topic VALUES ('', 0, '0') ON CONFLICT DO NOTHING",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			exec(t, db, setup)
			put(t, db, "", "a", "b")
			require.Equal(t, []string{"a", "b"}, drain(t, newSource(t, db, wmforward.Config{})))
		})
	}
}

func TestCheck_RefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ setup, want string }{
		"no table": {"DROP TABLE watermill_forwarder_topic", "does not exist"},
		"a queue": {
			`ALTER TABLE watermill_forwarder_topic DROP COLUMN transaction_id`, "no transaction_id",
		},
		"no index": {
			`ALTER TABLE watermill_forwarder_topic DROP CONSTRAINT watermill_forwarder_topic_pkey`, "no index",
		},
		"cached numbers": {
			`ALTER SEQUENCE watermill_forwarder_topic_offset_seq CACHE 20`, "CACHE 20",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			src := newSource(t, db, wmforward.Config{})
			require.NoError(t, src.Check(t.Context()))
			exec(t, db, c.setup)
			err := src.Check(t.Context())
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
			require.ErrorContains(t, err, c.want)
			_, err = src.Acquire(t.Context(), testLease)
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
		})
	}
}

func TestCheck_NotMigrated(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	src, err := wmforward.New(db.Pool, wmforward.Config{})
	require.NoError(t, err)
	require.ErrorIs(t, src.Check(t.Context()), driver.ErrSourceUnusable)
	_, err = src.Acquire(t.Context(), testLease)
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	require.NoError(t, src.Migrate(t.Context()))
	require.NoError(t, src.Migrate(t.Context()))
	require.NoError(t, src.Check(t.Context()))
	exec(t, db, "ALTER DATABASE "+db.Pool.Config().ConnConfig.Database+" SET synchronous_commit = off")
	db.Pool.Reset()
	require.ErrorContains(t, src.Check(t.Context()), "synchronous_commit is off")
}
