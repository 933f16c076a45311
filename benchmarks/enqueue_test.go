package benchmarks

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkEnqueue measures what a transaction pays for its messages. It inserts
// an order, and then enqueues messages, or inserts the same bytes into a table
// without an index in one multi-row statement.
func BenchmarkEnqueue(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, perTx := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("per_tx=%d", perTx), func(b *testing.B) { enqueue(b, db, perTx) })
		}
	})
}

// insert writes messages in tx.
type insert = func(ctx context.Context, tx pgx.Tx, messages ...outbox.Message) error

func enqueue(b *testing.B, db *testenv.Database, perTx int) {
	b.Helper()
	size := scale(b).enqueue
	logSettings(b, db, nil)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	messages, err := load.Messages(load.Spec{
		Messages: size.transactions * perTx, Bytes: 512, Keys: min(10_000, size.transactions*perTx), Topic: "orders",
	})
	require.NoError(b, err)

	contender := func(name string, write insert) compare.Contender {
		run := func(int) (time.Duration, error) {
			began := time.Now()
			for at := 0; at < len(messages); at += perTx {
				if err := order(b.Context(), db, write, messages[at:at+perTx]); err != nil {
					return 0, err
				}
			}
			return time.Since(began), nil
		}
		_, err := run(0) // connections and statements
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: size.transactions, Run: run}
	}
	leat, plain := contender("leat", ob.Enqueue), contender("plain", insertPlain)

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "tx/s", leat, plain)
}

// order is the business transaction.
func order(ctx context.Context, db *testenv.Database, write insert, messages []outbox.Message) error {
	return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO orders (customer, body) VALUES ($1, $2)", messages[0].Key, messages[0].Payload)
		if err != nil {
			return err
		}
		return write(ctx, tx, messages...)
	})
}

// insertPlain writes what a message consists of, and nothing else.
func insertPlain(ctx context.Context, tx pgx.Tx, messages ...outbox.Message) error {
	n := len(messages)
	ids, topics, keys, payloads := make([]string, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i := range messages {
		ids[i], topics[i], keys[i], payloads[i] = messages[i].ID, messages[i].Topic, messages[i].Key, messages[i].Payload
	}
	_, err := tx.Exec(ctx, `INSERT INTO plain (id, topic, key, payload)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[])`, ids, topics, keys, payloads)
	return err
}
