package pginbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// impatient gives a message up after two attempts, and must not do it here.
func impatient(t *testing.T) pginbox.Config {
	t.Helper()
	return pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{
		Action: inbox.Custom, Attempts: 2, Delay: inbox.NoDelay, Handle: func(context.Context, inbox.Failure) error {
			require.Fail(t, "a message that was processed is given up")
			return nil
		},
	}}}
}

func attempts(t *testing.T, env *testenv.Database) (n int) {
	t.Helper()
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT coalesce(sum(attempts), 0) FROM leat.inbox_attempts`).Scan(&n))
	return n
}

// TestI4_DuplicateInARangeIsNoAttempt: redeliveries of a message that was processed
// count for nothing, wherever its id is remembered, in every query mode.
func TestI4_DuplicateInARangeIsNoAttempt(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		for _, kind := range []string{"pgx", "sql"} {
			t.Run(mode+"/"+kind, func(t *testing.T) {
				t.Parallel()
				env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
				p := stores(t, env, impatient(t))[kind]
				for i, id := range []string{madeAgo(0), "text", madeAgo(3 * day)} {
					_, err := process(t, p, id, nothing)
					require.NoError(t, err)
					for range 5 {
						outcome, err := process(t, p, id, nothing)
						require.NoError(t, err)
						require.Equal(t, inbox.OutcomeDuplicate, outcome)
					}
					require.Equal(t, i+1, attempts(t, env))
				}
			})
		}
	}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{})
			cfg := env.Pool.Config()
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			in, err := pginbox.New(pool, "c", impatient(t))
			require.NoError(t, err)
			id := madeAgo(0)
			for range 4 {
				_, err := process(t, in, id, nothing)
				require.NoError(t, err)
			}
			require.Equal(t, 1, attempts(t, env))
			deliverBatch(t, in, 3, id, madeAgo(0), "text")
			require.Equal(t, 2, attempts(t, env), "text was run alone, once")
		})
	}
}

// deliverBatch delivers the same messages so often.
func deliverBatch(t *testing.T, in *pginbox.Inbox, times int, ids ...string) {
	t.Helper()
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	require.NoError(t, err)
	for range times {
		msgs := make([]*message.Message, len(ids))
		for i, id := range ids {
			msgs[i] = message.NewMessageWithContext(t.Context(), id, nil)
		}
		for _, err := range batch.Process(t.Context(), msgs, func(context.Context, []*message.Message) error { return nil }) {
			require.NoError(t, err)
		}
	}
}

// TestI13_BatchOfDuplicatesInRanges: a batch that was processed is a batch of
// duplicates when it comes again, and none of it is run alone or counted.
func TestI13_BatchOfDuplicatesInRanges(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
			if !noDDL {
				remember(t, env, 14*day, false) // makes the ranges of today, so that the batch is claimed as one
			}
			in, err := pginbox.New(env.Pool, "c", impatient(t))
			require.NoError(t, err)
			var all []string
			for i := range 20 {
				all = append(all, madeAgo(time.Duration(i)*time.Millisecond))
			}
			deliverBatch(t, in, 3, all...)
			require.Zero(t, attempts(t, env))
			require.Equal(t, 20, rows(t, env, "inbox_attempts"))
		})
	}
}

// TestI8_OneInboxAConsumer_InRanges: ids in ranges are ids, too.
func TestI8_OneInboxAConsumer_InRanges(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
			in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
			require.NoError(t, err)
			w, err := pgwatermark.New(env.Pool, "c", []string{logTopic}, pgwatermark.Config{})
			require.NoError(t, err)
			_, err = process(t, in, madeAgo(0), nothing)
			require.NoError(t, err)
			require.Zero(t, rows(t, env, "inbox"))
			_, err = w.Assigned(t.Context(), []driver.Assignment{wholeLog})
			require.ErrorIs(t, err, pgclaim.ErrOtherInbox)
		})
	}
	t.Run("schema without ranges", func(t *testing.T) {
		t.Parallel()
		env := testenv.Postgres(t, template)
		_, err := env.Pool.Exec(t.Context(), `DROP VIEW leat.inbox_processed; DROP TABLE leat.inbox_ranges, leat.inbox_retention`)
		require.NoError(t, err)
		w, err := pgwatermark.New(env.Pool, "c", []string{logTopic}, pgwatermark.Config{})
		require.NoError(t, err)
		next, err := w.Assigned(t.Context(), []driver.Assignment{wholeLog})
		require.NoError(t, err)
		require.Equal(t, []int64{0}, next)
	})
}
