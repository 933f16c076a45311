package pginbox_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

func nothing(context.Context) error { return nil }

func process(t *testing.T, p inbox.Runner, id string, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	t.Helper()
	return p.Process(t.Context(), message.NewMessage(id, nil), handle)
}

func TestClaimCostsNoRoundTripBeyondTheTransaction(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		newSubject maker
		message    int64 // BEGIN with the claim, COMMIT
		duplicate  int64 // BEGIN with the claim, ROLLBACK with the question
	}{
		"pgx": {newSubject, 2, 2},
		"sql": {newSQLSubject, 3, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tt.newSubject(t, testenv.Postgres(t), pginbox.Config{})
			p, err := s.Open("counter", inbox.Config{})
			require.NoError(t, err)
			count := func(id string) int64 {
				before := s.cable.Writes()
				_, err := process(t, p, id, nothing)
				require.NoError(t, err)
				return s.cable.Writes() - before
			}
			count("a") // prepares the statements and looks up the consumer
			count("a")
			require.Equal(t, tt.message, count("b"))
			require.Equal(t, tt.duplicate, count("b"))
		})
	}
}

func TestB11_AsynchronousCommitIsRefused(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	for setting, want := range map[string]error{"off": outbox.ErrNotDurable, "local": nil, "on": nil} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			config, err := pgxpool.ParseConfig(env.URL)
			require.NoError(t, err)
			config.ConnConfig.RuntimeParams["synchronous_commit"] = setting
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			db := stdlib.OpenDBFromPool(pool)
			t.Cleanup(func() { require.NoError(t, db.Close()) })

			onPgx, err := pginbox.New(pool, "pgx "+setting, pginbox.Config{})
			require.NoError(t, err)
			onSQL, err := pginbox.NewSQL(db, "sql "+setting, pginbox.Config{})
			require.NoError(t, err)
			for range 2 {
				_, err = process(t, onPgx, "a", nothing)
				require.ErrorIs(t, err, want)
				_, err = process(t, onSQL, "a", nothing)
				require.ErrorIs(t, err, want)
			}
			require.Zero(t, pool.Stat().AcquiredConns())
		})
	}
}

func TestClaimWithoutASchema(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	in, err := pginbox.New(env.Pool, "early", pginbox.Config{})
	require.NoError(t, err)

	_, err = process(t, in, "a", nothing)
	require.ErrorIs(t, err, outbox.ErrNotMigrated)

	// A table that goes while the consumer's number is known fails in the claim.
	require.NoError(t, in.Migrate(t.Context()))
	_, err = process(t, in, "a", nothing)
	require.NoError(t, err)
	_, err = env.Pool.Exec(t.Context(), `ALTER TABLE leat.inbox RENAME TO gone`)
	require.NoError(t, err)
	_, err = process(t, in, "b", nothing)
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	require.Zero(t, env.Pool.Stat().AcquiredConns())
}

func TestConsumersAreNumberedOnce(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	var group sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		group.Go(func() {
			in, err := pginbox.New(env.Pool, []string{"a", "b", "c"}[i%3], pginbox.Config{})
			if err == nil {
				_, err = in.Process(t.Context(), message.NewMessage(string(rune('a'+i)), nil), nothing)
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))

	var names, highest int
	err := env.Pool.QueryRow(t.Context(), `SELECT count(*), max(id) FROM leat.inbox_consumers`).Scan(&names, &highest)
	require.NoError(t, err)
	require.Equal(t, 3, names)
	require.Equal(t, 3, highest, "a number was used up without a name")
}

func TestTooManyConsumers(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	_, err := env.Pool.Exec(t.Context(), `INSERT INTO leat.inbox_consumers (id, name) OVERRIDING SYSTEM VALUE
		SELECT n, 'consumer ' || n FROM generate_series(1, 32767) n WHERE n <> 7`)
	require.NoError(t, err)
	last, err := pginbox.New(env.Pool, "last", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, last, "a", nothing)
	require.NoError(t, err)

	in, err := pginbox.New(env.Pool, "one too many", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, in, "a", nothing)
	require.ErrorIs(t, err, pgclaim.ErrTooManyConsumers)
	_, err = env.Pool.Exec(t.Context(), `SELECT leat.inbox_register('one too many')`)
	require.True(t, pgerr.Is(err, pgerr.SequenceLimitExceeded), "%v", err)

	_, err = env.Pool.Exec(t.Context(), `DELETE FROM leat.inbox_consumers WHERE name = 'consumer 5'`)
	require.NoError(t, err)
	_, err = env.Pool.Exec(t.Context(), `SELECT leat.inbox_register('one more')`)
	require.NoError(t, err)
}

func TestConnectionLostInTheHandler(t *testing.T) {
	t.Parallel()
	for name, newSubject := range map[string]maker{
		"pgx": newSubject, "sql": newSQLSubject,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			p, err := s.Open("victim", inbox.Config{})
			require.NoError(t, err)
			outcome, err := process(t, p, "a", func(ctx context.Context) error {
				return exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
			})
			require.Error(t, err)
			require.Equal(t, inbox.OutcomeFailed, outcome)

			// The backend says goodbye before it lets go of its locks.
			for outcome = inbox.OutcomeBusy; outcome == inbox.OutcomeBusy; {
				outcome, err = process(t, p, "a", func(ctx context.Context) error { return s.Write(ctx, "a") })
			}
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeCommitted, outcome)
		})
	}
}
