package pgoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestWaits_NameTheHolder: a transaction that was left open elsewhere makes the next writer of the key
// wait. The writer's error names the key and the backend.
func TestWaits_NameTheHolder(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	plain := onSQL(t, db.SQL(t))
	forgotten := begin(t, ob, db).exec("SET LOCAL application_name = 'billing'").put("o-1", "placed")
	says := fmt.Sprintf(`^leat: waited for key "o-1", locked by pid %d \(billing, idle in transaction\) since [0-9.ms]+: `, forgotten.pid())
	msgs := append(keyed("a-free-one", "x"), keyed("o-1", "paid")...)

	late := func(t *testing.T) context.Context {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	for name, write := range map[string]func(t *testing.T) error{
		"InTx": func(t *testing.T) error {
			t.Helper()
			return ob.InTx(late(t), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, msgs...) })
		},
		"InTx with lock_timeout": func(t *testing.T) error {
			t.Helper()
			return ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '50ms'")
				return errors.Join(err, ob.Enqueue(ctx, tx, msgs...))
			})
		},
		"InSQLTx": func(t *testing.T) error {
			t.Helper()
			return plain.InSQLTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "SET LOCAL lock_timeout = '50ms'")
				return errors.Join(err, plain.EnqueueSQL(ctx, tx, msgs...))
			})
		},
		"InBatch": func(t *testing.T) error {
			t.Helper()
			return ob.InBatch(late(t), &pgx.Batch{}, msgs...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Regexp(t, says, write(t).Error())
		})
	}
}

// TestWaits_Warn: without a deadline, the same is logged once while the call waits.
func TestWaits_Warn(t *testing.T) {
	t.Parallel()
	log := testenv.NewLog()
	ob, db := newOutbox(t, pgoutbox.Config{Logger: log.Logger()})
	ob.WarnOfWaits(time.Millisecond)
	forgotten := begin(t, ob, db).put("o-1", "placed")
	second := begin(t, ob, db)
	done := second.goPut("o-1", "paid")
	log.Await(t, "enqueue waits for another transaction", fmt.Sprintf(`holds="key \"o-1\", locked by pid %d`, forgotten.pid()))
	forgotten.commit()
	require.NoError(t, <-done)
	second.commit()
	require.Equal(t, 2, stored(t, db))
}

// TestWaits_WithoutAHolder: an error of another kind stays as it is.
func TestWaits_WithoutAHolder(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT pg_sleep(30)")
		return errors.Join(err, ob.Enqueue(ctx, tx, outbox.Message{Topic: "t", Key: "k"}))
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotContains(t, err.Error(), "waited for")
}
