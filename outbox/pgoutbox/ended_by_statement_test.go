package pgoutbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO1_TransactionEndedByAStatement: pgx does not notice that a statement has ended its transaction, and
// a message enqueued then would be stored by itself.
func TestO1_TransactionEndedByAStatement(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	for _, statement := range []string{"COMMIT", "ROLLBACK"} {
		tx, err := db.Pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), statement)
		require.NoError(t, err)
		require.ErrorIs(t, ob.Enqueue(t.Context(), tx, keyed("k", "x")...), outbox.ErrNotInTransaction, statement)
		require.NoError(t, tx.Rollback(t.Context()))
	}
	require.Zero(t, stored(t, db))
}
