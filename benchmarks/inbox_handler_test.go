package benchmarks

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxHandler measures what the inbox adds to a handler that writes
// two statements in a transaction: the same handler behind the inbox, and in a
// bare transaction. Ids are fresh UUIDv7; the counters are many, so that lanes
// do not wait for each other's rows.
func BenchmarkInboxHandler(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, lanes := range []int{1, 8} {
			b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { inboxHandler(b, db, lanes) })
		}
	})
}

func inboxHandler(b *testing.B, db *testenv.Database, lanes int) {
	b.Helper()
	size := scale(b).inbox
	logSettings(b, db, nil)
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
	require.NoError(b, err)
	behind := in.Handle(inTx(effect))
	bare := bareEffect(db.Pool)
	run := func(handle func(*message.Message) error) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) {
			return deliver(b.Context(), lanes, size.transactions, handle)
		}
	}
	for _, warmUp := range []func(*message.Message) error{behind, bare} { // connections and statements
		_, err := deliver(b.Context(), lanes, lanes*20, warmUp)
		require.NoError(b, err)
	}

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s",
		compare.Contender{Name: "leat", Ops: size.transactions, Run: run(behind)},
		compare.Contender{Name: "bare", Ops: size.transactions, Run: run(bare)},
	)
	b.StopTimer()
	requireEffects(b, db.Pool)
}

// effect is the handler: it records the message and counts it.
func effect(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
	if _, err := tx.Exec(ctx, "INSERT INTO effects (message, body) VALUES ($1, $2)", msg.UUID, msg.Payload); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE counters SET n = n + 1 WHERE id = $1", counterOf(msg))
	return err
}

// counterOf is the counter that the handler counts a message in.
func counterOf(msg *message.Message) int {
	return (int(msg.Payload[0])<<8 | int(msg.Payload[1])) % counters
}

// bareEffect is effect in a transaction without an inbox.
func bareEffect(pool *pgxpool.Pool) func(*message.Message) error {
	return func(msg *message.Message) error {
		return pgx.BeginFunc(msg.Context(), pool, func(tx pgx.Tx) error { return effect(msg.Context(), tx, msg) })
	}
}

// deliver hands count new messages to handle, in lanes.
func deliver(ctx context.Context, lanes, count int, handle func(*message.Message) error) (time.Duration, error) {
	messages, err := newMessages(ctx, count)
	if err != nil {
		return 0, err
	}
	return deliverThese(lanes, messages, handle)
}

// deliverThese hands messages to handle, in lanes.
func deliverThese(lanes int, messages []*message.Message, handle func(*message.Message) error) (time.Duration, error) {
	errs := make([]error, lanes)
	var group sync.WaitGroup
	began := time.Now()
	for lane := range lanes {
		group.Go(func() {
			for i := lane; i < len(messages) && errs[lane] == nil; i += lanes {
				errs[lane] = handle(messages[i])
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return took, nil
}

// newMessages returns count messages with ids of version 7 and 256 bytes each.
func newMessages(ctx context.Context, count int) ([]*message.Message, error) {
	messages := make([]*message.Message, count)
	for i := range messages {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		payload := make([]byte, 256)
		copy(payload, id[14:])
		messages[i] = message.NewMessage(id.String(), payload)
		messages[i].SetContext(ctx)
	}
	return messages, nil
}

// requireEffects makes sure that the figures are those of work that was done.
func requireEffects(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	var effects, counted int
	require.NoError(b, pool.QueryRow(b.Context(), "SELECT count(*), (SELECT sum(n) FROM counters) FROM effects").
		Scan(&effects, &counted))
	require.Positive(b, effects)
	require.Equal(b, effects, counted)
}
