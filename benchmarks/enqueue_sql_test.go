package benchmarks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// enqueueSQL measures the transaction of BenchmarkEnqueue on database/sql, with pgx's
// driver: EnqueueSQL (leat), the same plain insert beside it and no message at all;
// and Enqueue and the plain insert on pgx, for what database/sql costs.
func enqueueSQL(b *testing.B, db *testenv.Database, perTx int) {
	b.Helper()
	size := scale(b).enqueueSQL
	logSettings(b, db, nil)
	handle := db.SQL(b)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	messages, err := load.Messages(load.Spec{
		Messages: size.transactions * perTx, Bytes: 512, Keys: min(10_000, size.transactions*perTx), Topic: "orders",
	})
	require.NoError(b, err)
	before := countWritten(b, db)
	contender := func(name string, transact func(messages []outbox.Message) error) compare.Contender {
		run := func(int) (time.Duration, error) {
			began := time.Now()
			for at := 0; at < len(messages); at += perTx {
				if err := transact(messages[at : at+perTx]); err != nil {
					return 0, err
				}
			}
			return time.Since(began), nil
		}
		_, err := run(0) // connections and statements
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: size.transactions, Run: run}
	}
	onSQL := func(write insertSQL) func([]outbox.Message) error {
		return func(messages []outbox.Message) error { return orderSQL(b.Context(), handle, messages, write) }
	}
	onPgx := func(write insert) func([]outbox.Message) error {
		return func(messages []outbox.Message) error { return ordering(write)(b.Context(), db, messages) }
	}
	contenders := []compare.Contender{
		contender("leat", onSQL(ob.EnqueueSQL)), contender("plain", onSQL(insertPlainSQL)), contender("none", onSQL(insertNothingSQL)),
		contender("leat-pgx", onPgx(ob.Enqueue)), contender("plain-pgx", onPgx(insertPlain)),
	}

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "tx/s", contenders...)
	b.StopTimer()
	requireMessages(b, db, before, 1, 1)
}

// insertSQL writes messages in tx.
type insertSQL = func(ctx context.Context, tx *sql.Tx, messages ...outbox.Message) error

// orderSQL is the business transaction with its messages.
func orderSQL(ctx context.Context, db *sql.DB, messages []outbox.Message, write insertSQL) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	_, err = tx.ExecContext(ctx, insertOrder, messages[0].Key, messages[0].Payload)
	if err == nil {
		err = write(ctx, tx, messages...)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// insertNothingSQL leaves the business transaction as it would be without messages.
func insertNothingSQL(context.Context, *sql.Tx, ...outbox.Message) error { return nil }

// insertPlainSQL is insertPlain.
func insertPlainSQL(ctx context.Context, tx *sql.Tx, messages ...outbox.Message) error {
	_, err := tx.ExecContext(ctx, plainStatement, plainColumns(messages)...)
	return err
}
