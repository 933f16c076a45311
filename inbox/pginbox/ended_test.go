package pginbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI3_TransactionEndedByAStatement: PostgreSQL answers COMMIT to a COMMIT
// outside a transaction. That must not pass for the inbox's.
func TestI3_TransactionEndedByAStatement(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, tx pgx.Tx) error{
		"rollback": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "rollback")
			return err
		},
		"a second transaction": func(ctx context.Context, tx pgx.Tx) error {
			second, err := tx.Conn().Begin(ctx)
			return errors.Join(err, second.Rollback(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			in, err := pginbox.New(db.Pool, "c", pginbox.Config{})
			require.NoError(t, err)
			outcome, err := in.Process(t.Context(), message.NewMessage("1", nil), func(ctx context.Context) error {
				return end(ctx, pginbox.Tx(ctx))
			})
			require.ErrorIs(t, err, driver.ErrEnded)
			require.Equal(t, inbox.OutcomeUnknown, outcome)
		})
	}
}

func TestI3_SQLTransactionEndedByAStatement(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in, err := pginbox.NewSQL(db.SQL(t), "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = in.Process(t.Context(), message.NewMessage("1", nil), func(ctx context.Context) error {
		_, err := pginbox.SQLTx(ctx).ExecContext(ctx, "rollback")
		return err
	})
	require.ErrorIs(t, err, driver.ErrEnded)
}

// TestI1_OutageIsNotPoison: the message is not at fault when the database is unavailable.
func TestI1_OutageIsNotPoison(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=1")
	require.NoError(t, err)
	defer pool.Close()
	in, err := pginbox.New(pool, "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = in.Process(t.Context(), message.NewMessage("1", nil), func(context.Context) error { return nil })
	require.ErrorIs(t, err, inbox.ErrNotClaimed)
	require.False(t, inbox.ShouldPoison(err))
}

// TestI4_OpenRows: a handler that leaves rows open has failed, and a policy deals with it. The
// outcome is not unknown.
func TestI4_OpenRows(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	in, err := pginbox.New(db.Pool, "c", pginbox.Config{Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 2, Delay: inbox.NoDelay},
	}})
	require.NoError(t, err)
	process := func() error {
		_, err := in.Process(t.Context(), message.NewMessage("1", nil), func(ctx context.Context) error {
			_, err := pginbox.Tx(ctx).Query(ctx, "SELECT generate_series(1, 100000)") //nolint:sqlclosecheck // on purpose
			return err
		})
		return err
	}
	err = process()
	require.ErrorContains(t, err, "rows of a query open")
	require.NotErrorIs(t, err, inbox.ErrCommitUnknown)
	for range 2 {
		err = process()
	}
	require.NoError(t, err, "parked")
}
