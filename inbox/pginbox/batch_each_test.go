package pginbox_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

func newBatchOf(t *testing.T, in *pginbox.Inbox) *inbox.Batch {
	t.Helper()
	b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	require.NoError(t, err)
	return b
}

func TestHandleBatchEach(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	onPgx, err := pginbox.New(env.Pool, "pgx", pginbox.Config{})
	require.NoError(t, err)
	onSQL, err := pginbox.NewSQL(env.SQL(t), "sql", pginbox.Config{})
	require.NoError(t, err)
	row := func(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
		_, err := tx.Exec(ctx, `INSERT INTO effects VALUES ($1)`, "pgx "+msg.UUID)
		return err
	}
	rowSQL := func(ctx context.Context, tx *sql.Tx, msg *message.Message) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ($1)`, "sql "+msg.UUID)
		return err
	}
	two := []*message.Message{delivery(t.Context(), "a"), delivery(t.Context(), "b")}
	for range 2 {
		require.Equal(t, []error{nil, nil}, pginbox.HandleBatchEach(newBatchOf(t, onPgx), row)(t.Context(), two))
		require.Equal(t, []error{nil, nil}, pginbox.HandleBatchEachSQL(newBatchOf(t, onSQL), rowSQL)(t.Context(), two))
	}
	other := []*message.Message{delivery(t.Context(), "c")}
	require.ErrorIs(t, pginbox.HandleBatchEachSQL(newBatchOf(t, onPgx), rowSQL)(t.Context(), two[:1])[0], inbox.ErrTwoHandlers)
	onPgx, err = pginbox.New(env.Pool, "pgx", pginbox.Config{})
	require.NoError(t, err)
	onSQL, err = pginbox.NewSQL(env.SQL(t), "sql", pginbox.Config{})
	require.NoError(t, err)
	require.ErrorContains(t, pginbox.HandleBatchEach(newBatchOf(t, onSQL), row)(t.Context(), other)[0], "another kind")
	require.ErrorContains(t, pginbox.HandleBatchEachSQL(newBatchOf(t, onPgx), rowSQL)(t.Context(), other)[0], "another kind")

	rows, err := env.Pool.Query(t.Context(), `SELECT * FROM effects ORDER BY 1`)
	require.NoError(t, err)
	effects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"pgx a", "pgx b", "sql a", "sql b"}, effects)
}

// TestI13_EachSwallowsAnError: the statement of the next message finds the transaction
// aborted. The one that has swallowed the error is found, and nobody else is judged.
func TestI13_EachSwallowsAnError(t *testing.T) {
	t.Parallel()
	for name, swallower := range map[string]string{"in front": "a", "in the middle": "c", "at the end": "e"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			in, err := pginbox.New(s.pool, "tester", s.cfg)
			require.NoError(t, err)
			process := pginbox.HandleBatchEach(newBatchOf(t, in), func(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
				if err := s.Write(ctx, msg.UUID); err != nil {
					return err
				}
				if msg.UUID == swallower {
					_, err := tx.Exec(ctx, `SELECT 1/0`)
					require.Error(t, err)
				}
				return nil
			})
			var msgs []*message.Message
			var want []string
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				msgs = append(msgs, delivery(t.Context(), id))
				if id != swallower {
					want = append(want, id)
				}
			}
			for i, err := range process(t.Context(), msgs) {
				if msgs[i].UUID == swallower {
					require.ErrorIs(t, err, pgx.ErrTxCommitRollback)
				} else {
					require.NoError(t, err)
				}
			}
			s.requireEffects(t, want...)
		})
	}
}
