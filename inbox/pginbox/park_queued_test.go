package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI2_QueuedHandlerIsGivenUp: the statements of a handler that travel with its
// claims have no part in the transaction that gives its message up.
func TestI2_QueuedHandlerIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, queue := range map[string]func(q *pgx.Batch) error{
		"handler fails": func(q *pgx.Batch) error {
			q.Queue(`INSERT INTO effects VALUES ('never')`)
			return errHandler
		},
		"statement fails": func(q *pgx.Batch) error {
			q.Queue(`INSERT INTO effects VALUES ('never')`)
			q.Queue(`INSERT INTO no_such_table VALUES (1)`)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			in, err := pginbox.New(db.Pool, "c", pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{
				Action: inbox.Custom, Attempts: 2, Delay: inbox.NoDelay, Handle: func(ctx context.Context, f inbox.Failure) error {
					_, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO effects VALUES ($1)`, "gave up "+f.ID)
					return err
				},
			}}})
			require.NoError(t, err)
			handle := pginbox.HandleQueued(in, func(_ context.Context, q *pgx.Batch, _ *message.Message) error { return queue(q) })
			require.Error(t, handle(message.NewMessage("a", nil)))
			require.NoError(t, handle(message.NewMessage("a", nil)))
			require.NoError(t, handle(message.NewMessage("a", nil)))
			rows, err := db.Pool.Query(t.Context(), `SELECT effect FROM effects`)
			require.NoError(t, err)
			effects, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			require.Equal(t, []string{"gave up a"}, effects)
		})
	}
}
