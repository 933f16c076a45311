package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// processedEvents is an inbox as the usual articles show it.
const processedEvents = `
	CREATE TABLE IF NOT EXISTS processed_events (
		event_id uuid PRIMARY KEY,
		processed_at timestamptz NOT NULL DEFAULT now()
	)`

// BenchmarkInboxByHand measures a handler of two statements behind the inbox beside one with the
// table that a team writes by hand, and one in a bare transaction. With sends=1 the handler also
// passes a message on: into the outbox, or into the table of BenchmarkByHand.
func BenchmarkInboxByHand(b *testing.B) {
	eachSize := func(b *testing.B, bench func(b *testing.B, lanes, sends int)) {
		b.Helper()
		for _, lanes := range []int{1, producers} {
			for _, sends := range []int{0, 1} {
				b.Run(fmt.Sprintf("lanes=%d/sends=%d", lanes, sends), func(b *testing.B) { bench(b, lanes, sends) })
			}
		}
	}
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		eachSize(b, func(b *testing.B, lanes, sends int) {
			b.Helper()
			inboxByHand(b, db, lanes, sends)
		})
	})
	onMySQL(b, func(b *testing.B, db *mySQL) {
		b.Helper()
		eachSize(b, func(b *testing.B, lanes, sends int) {
			b.Helper()
			inboxByHandOnMySQL(b, db, lanes, sends)
		})
	})
}

func inboxByHand(b *testing.B, db *testenv.Database, lanes, sends int) {
	b.Helper()
	logSettings(b, db, nil)
	_, err := db.Pool.Exec(b.Context(), byHand+";"+processedEvents)
	require.NoError(b, err)
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
	require.NoError(b, err)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	sending := func(send insert) func(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
		return func(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
			if err := effect(ctx, tx, msg); err != nil || sends == 0 {
				return err
			}
			return send(ctx, tx, passedOn(msg))
		}
	}
	bare := func(msg *message.Message) error {
		return pgx.BeginFunc(msg.Context(), db.Pool, func(tx pgx.Tx) error { return sending(insertByHand)(msg.Context(), tx, msg) })
	}
	compareInboxes(b,
		delivering(b, lanes, "leat", in.Handle(inTx(sending(ob.Enqueue)))),
		delivering(b, lanes, "by-hand", onceByHand(db.Pool, sending(insertByHand))),
		delivering(b, lanes, "bare", bare))
	requireEffects(b, db.Pool)
}

// compareInboxes runs contenders that deliver messages.
func compareInboxes(b *testing.B, contenders ...compare.Contender) {
	b.Helper()
	b.ResetTimer()
	compare.Rounds(b, scale(b).inbox.rounds, only(), "msg/s", contenders...)
	b.StopTimer()
}

// passedOn is what a handler sends. The end of an id of version 7 is random: transactions seldom share a key.
func passedOn(msg *message.Message) outbox.Message {
	return outbox.Message{ID: msg.UUID, Topic: "orders", Key: msg.UUID[len(msg.UUID)-4:], Payload: fmt.Appendf(nil, `{"order": %q}`, msg.UUID)}
}

// delivering makes a contender of a handler.
func delivering(b *testing.B, lanes int, name string, handle func(*message.Message) error) compare.Contender {
	b.Helper()
	_, err := deliver(b.Context(), lanes, lanes*20, handle) // connections and statements
	require.NoError(b, err)
	transactions := scale(b).inbox.transactions
	return compare.Contender{Name: name, Ops: transactions, Run: func(int) (time.Duration, error) {
		return deliver(b.Context(), lanes, transactions, handle)
	}}
}

var errRepeated = errors.New("the message was processed before")

// onceByHand runs handle in a transaction that begins with the message's id.
func onceByHand(
	pool *pgxpool.Pool, handle func(ctx context.Context, tx pgx.Tx, msg *message.Message) error,
) func(*message.Message) error {
	return func(msg *message.Message) error {
		ctx := msg.Context()
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, "INSERT INTO processed_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING", msg.UUID)
			if err == nil && tag.RowsAffected() == 0 {
				err = errRepeated
			}
			if err != nil {
				return err
			}
			return handle(ctx, tx, msg)
		})
		if errors.Is(err, errRepeated) {
			return nil
		}
		return err
	}
}
