package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

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
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, lanes := range []int{1, 8} {
			for _, perTx := range []int{1, 10} {
				b.Run(fmt.Sprintf("lanes=%d/per_tx=%d", lanes, perTx), func(b *testing.B) { inTxByHand(b, db, lanes, perTx) })
			}
		}
	})
}

func inTxByHand(b *testing.B, db *testenv.Database, lanes, perTx int) {
	b.Helper()
	size := scale(b).enqueue
	logSettings(b, db, nil)
	_, err := db.Pool.Exec(b.Context(), byHand)
	require.NoError(b, err)
	count := size.transactions / lanes * lanes
	messages, err := load.Messages(load.Spec{Messages: count * perTx, Bytes: 16, Keys: 10_000, Topic: "orders"})
	require.NoError(b, err)
	for i := range messages {
		messages[i].Payload = fmt.Appendf(nil, `{"order": %q, "note": "%0440d"}`, messages[i].ID, i)
	}
	contender := func(name string, transact transaction) compare.Contender {
		run := func(int) (time.Duration, error) {
			began := time.Now()
			var g errgroup.Group
			for lane := range lanes {
				g.Go(func() error {
					for at := lane * perTx; at < len(messages); at += lanes * perTx {
						if err := transact(b.Context(), db, messages[at:at+perTx]); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return time.Since(began), g.Wait()
		}
		_, err := run(0) // connections and statements
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: count, Run: func(n int) (time.Duration, error) {
			began := time.Now()
			_, err := run(n)
			return time.Since(began), err
		}}
	}
	inTx := func(cfg pgoutbox.Config) transaction {
		ob, err := pgoutbox.New(db.Pool, cfg)
		require.NoError(b, err)
		return func(ctx context.Context, _ *testenv.Database, messages []outbox.Message) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, insertOrder, messages[0].Key, messages[0].Payload)
				return errors.Join(err, ob.Enqueue(ctx, tx, messages...))
			})
		}
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "tx/s",
		contender("leat", inTx(pgoutbox.Config{})),
		contender("by-hand", ordering(insertByHand)),
		contender("at-once", inTx(pgoutbox.Config{InsertAtOnce: true})),
	)
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
