package pgoutbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO2_UnusableSourcesAreRefused: a source that would lose messages is refused when a relay starts and
// ends a running relay, with the cause in the error.
func TestO2_UnusableSourcesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  string
		cause  error
		atRest bool  // it is seen as a relay starts
		ends   error // what ends a relay that runs; nil if it goes on
	}{
		"sequence restarted": {
			spoil: "TRUNCATE leat.outbox RESTART IDENTITY",
			cause: basis.ErrLogRestarted,
			ends:  basis.ErrLogRestarted,
		},
		"sequence set back": {
			spoil: "SELECT setval('leat.outbox_seq_seq', 1)",
			cause: basis.ErrWentBack,
			ends:  basis.ErrWentBack,
		},
		"restored in another cluster": {
			spoil:  "UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1",
			cause:  basis.ErrOtherCluster,
			atRest: true,
		},
		"sequence with a cache": {
			spoil:  "ALTER SEQUENCE leat.outbox_seq_seq CACHE 10",
			cause:  pgwindow.ErrSequenceCache,
			atRest: true,
			ends:   basis.ErrLogRestarted, // ALTER SEQUENCE replaces its file
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			put(t, ob, "k", "1", "2", "3")
			broker := outboxtest.NewBroker()
			require.Equal(t, 3, runOnce(t, ob, broker))

			running := startRelay(t, ob, broker)
			put(t, ob, "k", "4")
			_, err := broker.AwaitDistinct(t.Context(), 4)
			require.NoError(t, err)
			exec(t, db, c.spoil)
			if c.ends == nil {
				require.NoError(t, running.stop())
				exec(t, db, c.spoil) // a window that was being opened has the old value
			} else {
				require.ErrorIs(t, <-running.done, c.ends)
			}
			src := source(t, ob, "")
			refused(t, src.Check(t.Context()), c.cause)
			_, err = src.Acquire(t.Context(), testLease)
			if c.atRest {
				refused(t, err, c.cause)
			}
			r, err := relay.New(src, broker.Sink(), relay.Config{})
			require.NoError(t, err)
			refused(t, r.Run(t.Context()), c.cause)
			_, err = r.RunOnce(t.Context())
			refused(t, err, c.cause)
		})
	}
}

func refused(t *testing.T, err, cause error) {
	t.Helper()
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	require.ErrorIs(t, err, cause)
}

// TestO3_AsyncCommitIsRefused: with synchronous_commit off a message is visible
// before it is durable (rule R7).
func TestO3_AsyncCommitIsRefused(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, migrated())
	exec(t, db, `ALTER DATABASE "`+db.Name+`" SET synchronous_commit = off`)
	db.Pool.Reset()
	for _, allow := range []bool{false, true} {
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{AllowAsyncCommit: allow})
		require.NoError(t, err)
		err = source(t, ob, "").Check(t.Context())
		if allow {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, driver.ErrSourceUnusable)
		require.ErrorContains(t, err, "synchronous_commit")
		require.ErrorContains(t, err, "or allow async commits")
	}
}

func TestCheck_NotMigrated(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	src := source(t, ob, "")
	refused(t, src.Check(t.Context()), outbox.ErrNotMigrated)
	_, err = src.Acquire(t.Context(), testLease)
	refused(t, err, outbox.ErrNotMigrated)
	require.NoError(t, ob.Migrate(t.Context()))
	require.NoError(t, src.Check(t.Context()))
}

// runOnce relays the committed messages to broker and returns how many.
func runOnce(t *testing.T, ob *pgoutbox.Outbox, broker *outboxtest.Broker) int {
	t.Helper()
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{})
	require.NoError(t, err)
	n, err := r.RunOnce(t.Context())
	require.NoError(t, err)
	return n
}

// running is a relay in the background.
type running struct {
	cancel context.CancelFunc
	done   chan error // gets what Run returns
}

func startRelay(t *testing.T, ob *pgoutbox.Outbox, broker *outboxtest.Broker) *running {
	t.Helper()
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{})
	require.NoError(t, err)
	return runRelay(t, r)
}

// runRelay runs r until it is stopped or the test ends.
func runRelay(t *testing.T, r *relay.Relay) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	run := &running{cancel: cancel, done: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run.done <- r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return run
}

func (r *running) stop() error {
	r.cancel()
	return <-r.done
}
