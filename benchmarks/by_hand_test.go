package benchmarks

import (
	"context"
	"errors"
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

// byHand is an outbox as the usual articles show it.
const byHand = `
	CREATE TABLE IF NOT EXISTS by_hand (
		id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
		aggregate_type text NOT NULL,
		aggregate_id text NOT NULL,
		payload jsonb NOT NULL,
		created_at timestamptz NOT NULL DEFAULT now(),
		sent_at timestamptz
	);
	CREATE INDEX IF NOT EXISTS by_hand_open ON by_hand (created_at) WHERE sent_at IS NULL`

// BenchmarkByHand measures a transaction of InTx beside one with the table that a team writes by
// hand, an INSERT for each event. Each inserts an order, and then its events of half a kilobyte of
// JSON.
func BenchmarkByHand(b *testing.B) {
	eachSize := func(b *testing.B, bench func(b *testing.B, lanes, perTx int)) {
		b.Helper()
		for _, lanes := range []int{1, producers} {
			for _, perTx := range []int{1, 10} {
				b.Run(fmt.Sprintf("lanes=%d/per_tx=%d", lanes, perTx), func(b *testing.B) { bench(b, lanes, perTx) })
			}
		}
	}
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		eachSize(b, func(b *testing.B, lanes, perTx int) {
			b.Helper()
			inTxByHand(b, db, lanes, perTx)
		})
	})
	onMySQL(b, func(b *testing.B, db *mySQL) {
		b.Helper()
		eachSize(b, func(b *testing.B, lanes, perTx int) {
			b.Helper()
			inTxByHandOnMySQL(b, db, lanes, perTx)
		})
	})
}

func inTxByHand(b *testing.B, db *testenv.Database, lanes, perTx int) {
	b.Helper()
	logSettings(b, db, nil)
	_, err := db.Pool.Exec(b.Context(), byHand)
	require.NoError(b, err)
	inTx := func(cfg pgoutbox.Config) commit {
		ob, err := pgoutbox.New(db.Pool, cfg)
		require.NoError(b, err)
		return func(ctx context.Context, messages []outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, insertOrder, messages[0].Key, messages[0].Payload)
				return errors.Join(err, ob.Enqueue(ctx, tx, messages...))
			})
		}
	}
	hand := func(ctx context.Context, messages []outbox.Message) error {
		return ordering(insertByHand)(ctx, db, messages)
	}
	load := committing(b, lanes, perTx)
	leat, rival, atOnce := load("leat", inTx(pgoutbox.Config{})), load("by-hand", hand), load("at-once", inTx(pgoutbox.Config{InsertAtOnce: true}))
	b.ResetTimer()
	compare.Rounds(b, scale(b).enqueue.rounds, only(), "tx/s", leat, rival, atOnce)
}

// commit commits a transaction with messages.
type commit = func(ctx context.Context, messages []outbox.Message) error

// committing returns what makes contenders of transactions with so many messages each, in lanes.
func committing(b *testing.B, lanes, perTx int) func(name string, do commit) compare.Contender {
	b.Helper()
	count := scale(b).enqueue.transactions
	messages, err := load.Messages(load.Spec{Messages: count * perTx, Bytes: 16, Keys: 10_000, Topic: "orders"})
	require.NoError(b, err)
	for i := range messages {
		messages[i].Payload = fmt.Appendf(nil, `{"order": %q, "note": "%0440d"}`, messages[i].ID, i)
	}
	return func(name string, do commit) compare.Contender {
		run := func(int) (time.Duration, error) {
			return concurrently(b.Context(), lanes, count, func(ctx context.Context, i int) error {
				return do(ctx, messages[i*perTx:(i+1)*perTx])
			})
		}
		_, err := run(0) // connections and statements
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: count, Run: run}
	}
}

// insertByHand inserts each event by a statement of its own.
func insertByHand(ctx context.Context, tx pgx.Tx, messages ...outbox.Message) error {
	for i := range messages {
		_, err := tx.Exec(ctx, "INSERT INTO by_hand (aggregate_type, aggregate_id, payload) VALUES ($1, $2, $3)",
			messages[i].Topic, messages[i].Key, messages[i].Payload)
		if err != nil {
			return err
		}
	}
	return nil
}
