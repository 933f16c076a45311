package pginbox_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

func TestTxIsACompleteTransaction(t *testing.T) {
	t.Parallel()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	p, err := s.Open("tester", inbox.Config{})
	require.NoError(t, err)

	_, err = process(t, p, "a", func(ctx context.Context) error {
		tx := pginbox.Tx(ctx)
		_, copyErr := tx.CopyFrom(ctx, pgx.Identifier{s.cfg.Schema, "effects"}, []string{"effect"}, pgx.CopyFromRows([][]any{{"copied"}}))
		batch := &pgx.Batch{}
		batch.Queue(`INSERT INTO ` + s.schema + `.effects VALUES ('batched')`)
		objects := tx.LargeObjects()
		_, objectErr := objects.Create(ctx, 0)
		_, prepareErr := tx.Prepare(ctx, "one", `SELECT 1`)
		savepointErr := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			return errors.Join(s.Write(ctx, "undone"), sql.ErrNoRows)
		})
		require.ErrorIs(t, savepointErr, sql.ErrNoRows)
		return errors.Join(copyErr, tx.SendBatch(ctx, batch).Close(), objectErr, prepareErr, tx.Conn().Ping(ctx))
	})

	require.NoError(t, err)
	effects, err := s.Effects(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"copied", "batched"}, effects)
}

func TestHandlerThatEndsTheTransaction(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		handle func(ctx context.Context, tx pgx.Tx) error
		want   error
		says   string
	}{
		"commit": {
			handle: func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) },
			want:   pgclaim.ErrCommitInHandler,
		},
		"rollback": {
			handle: func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) },
			want:   inbox.ErrRollbackOnly,
		},
		"rollback and more": {
			handle: func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, `SELECT 1`)
				return errors.Join(tx.Rollback(ctx), err, exec(ctx, `SELECT 1`))
			},
			want: pgx.ErrTxClosed,
		},
		"failed statement": {
			handle: func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, `SELECT 1/0`)
				require.Error(t, err)
				return nil
			},
			want: inbox.ErrRollbackOnly, says: "the handler ignored the error of a statement",
		},
	}
	env := testenv.Postgres(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, env, pginbox.Config{})
			p, err := s.Open("tester", inbox.Config{})
			require.NoError(t, err)
			outcome, err := process(t, p, "a", func(ctx context.Context) error {
				return errors.Join(s.Write(ctx, "never"), tt.handle(ctx, pginbox.Tx(ctx)))
			})
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.says)
			require.Equal(t, inbox.OutcomeFailed, outcome)
			effects, err := s.Effects(t.Context())
			require.NoError(t, err)
			require.Empty(t, effects)
			require.Zero(t, s.pool.Stat().AcquiredConns())
		})
	}
}

// TestRefusedCommitIsAFailure tells a commit that the server refused from one
// without an answer.
func TestRefusedCommitIsAFailure(t *testing.T) {
	t.Parallel()
	for name, newSubject := range map[string]maker{
		"pgx": newSubject, "sql": newSQLSubject,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			_, err := s.pool.Exec(t.Context(), `ALTER TABLE `+s.schema+`.effects ADD UNIQUE (effect) DEFERRABLE INITIALLY DEFERRED`)
			require.NoError(t, err)
			p, err := s.Open("tester", inbox.Config{})
			require.NoError(t, err)
			outcome, err := process(t, p, "a", func(ctx context.Context) error {
				return errors.Join(s.Write(ctx, "a"), s.Write(ctx, "a"))
			})
			require.ErrorIs(t, err, driver.ErrNotCommitted)
			require.Equal(t, inbox.OutcomeFailed, outcome)
		})
	}
}

func TestHandle(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	onPgx, err := pginbox.New(env.Pool, "pgx", pginbox.Config{})
	require.NoError(t, err)
	onSQL, err := pginbox.NewSQL(env.SQL(t), "sql", pginbox.Config{})
	require.NoError(t, err)
	handle := func(ctx context.Context, msg *message.Message) error {
		msg.Ack() // its own
		tx := pginbox.Tx(ctx)
		require.Equal(t, tx, pginbox.Tx(msg.Context()))
		require.Nil(t, pginbox.SQLTx(ctx))
		_, err := tx.Exec(ctx, `INSERT INTO effects VALUES ('pgx')`)
		return err
	}
	handleSQL := func(ctx context.Context, msg *message.Message) error {
		msg.Ack()
		tx := pginbox.SQLTx(ctx)
		require.Same(t, tx, pginbox.SQLTx(msg.Context()))
		require.Nil(t, pginbox.Tx(ctx))
		_, err := tx.ExecContext(ctx, `INSERT INTO effects VALUES ('sql')`)
		return err
	}

	for range 2 {
		require.NoError(t, onPgx.Handle(handle)(message.NewMessage("a", nil)))
		require.NoError(t, onSQL.Handle(handleSQL)(message.NewMessage("a", nil)))
	}
	require.ErrorIs(t, onPgx.Handle(handleSQL)(message.NewMessage("a", nil)), inbox.ErrTwoHandlers)

	var effects int
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM effects`).Scan(&effects))
	require.Equal(t, 2, effects)
	require.Nil(t, pginbox.Tx(t.Context()))
	require.Nil(t, pginbox.SQLTx(t.Context()))
}
