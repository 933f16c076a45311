package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxBatch measures batches of a hundred behind the inbox against bare
// transactions, without any inbox, of one message each, and of batches as large. The
// work is the same: two rows a message.
//
//   - handler=rows writes the rows of a batch in two statements.
//   - handler=queued writes those of a message in two statements, and sends the
//     statements of a batch together.
func BenchmarkInboxBatch(b *testing.B) {
	handlers := map[string]batchHandler{
		"rows": {
			func(batch *inbox.Batch) inbox.BatchFunc {
				return batch.Handle(inTx(writeRows))
			},
			writeRows,
		},
		"queued": {
			func(batch *inbox.Batch) inbox.BatchFunc { return pginbox.HandleBatchQueued(batch, queueRows) },
			sendRows,
		},
	}
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, name := range []string{"rows", "queued"} {
			for _, lanes := range []int{1, 8} {
				b.Run(fmt.Sprintf("handler=%s/lanes=%d", name, lanes), func(b *testing.B) {
					inboxBatch(b, db, lanes, handlers[name])
				})
			}
		}
	})
}

// BenchmarkInboxQueued measures a handler that queues its statements, behind the
// inbox, against the same statements one by one in a bare transaction.
func BenchmarkInboxQueued(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, lanes := range []int{1, 8} {
			b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { inboxQueued(b, db, lanes) })
		}
	})
}

// batchHandler is a handler behind the inbox, and what it does in a bare transaction.
type batchHandler struct {
	bind func(*inbox.Batch) inbox.BatchFunc
	bare func(ctx context.Context, tx pgx.Tx, msgs []*message.Message) error
}

func inboxBatch(b *testing.B, db *testenv.Database, lanes int, handler batchHandler) {
	b.Helper()
	const size = 100

	times := scale(b).batch
	logSettings(b, db, nil)
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
	require.NoError(b, err)
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{MaxBatch: size})
	require.NoError(b, err)
	batched := max(times.transactions/25, 1) * lanes * size
	batches := func(process inbox.BatchFunc) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) { return deliverBatches(b.Context(), lanes, size, batched, process) }
	}
	behind, together := batches(handler.bind(batch)), batches(bareBatch(db.Pool, handler.bare))
	bare := func(int) (time.Duration, error) {
		return deliver(b.Context(), lanes, times.transactions, bareRows(db.Pool))
	}
	for range 2 { // connections and statements
		_, err1 := behind(0)
		_, err2 := bare(0)
		_, err3 := together(0)
		require.NoError(b, errors.Join(err1, err2, err3))
	}

	b.ResetTimer()
	compare.Rounds(b, times.rounds, only(), "msg/s",
		compare.Contender{Name: "leat", Ops: batched, Run: behind},
		compare.Contender{Name: "bare", Ops: times.transactions, Run: bare},
		compare.Contender{Name: "bare-batch", Ops: batched, Run: together},
	)
	b.StopTimer()
	requireRows(b, db.Pool)
}

// bareBatch is a batch in a transaction without an inbox.
func bareBatch(pool *pgxpool.Pool, handle func(context.Context, pgx.Tx, []*message.Message) error) inbox.BatchFunc {
	return func(ctx context.Context, msgs []*message.Message) []error {
		return []error{pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return handle(ctx, tx, msgs) })}
	}
}

func inboxQueued(b *testing.B, db *testenv.Database, lanes int) {
	b.Helper()
	times := scale(b).inbox
	logSettings(b, db, nil)
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
	require.NoError(b, err)
	handled, err := pginbox.New(db.Pool, "handled", pginbox.Config{}) // an inbox has one handler
	require.NoError(b, err)
	run := func(handle func(*message.Message) error) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) { return deliver(b.Context(), lanes, times.transactions, handle) }
	}
	queued := run(pginbox.HandleQueued(in, queueRows))
	plain := run(handled.Handle(inTx(rowByRow)))
	bare := run(bareRows(db.Pool))
	for _, warmUp := range []func(int) (time.Duration, error){queued, plain, bare} {
		_, err := warmUp(0)
		require.NoError(b, err)
	}

	b.ResetTimer()
	compare.Rounds(b, times.rounds, only(), "msg/s",
		compare.Contender{Name: "leat", Ops: times.transactions, Run: queued},
		compare.Contender{Name: "handle", Ops: times.transactions, Run: plain},
		compare.Contender{Name: "bare", Ops: times.transactions, Run: bare},
	)
	b.StopTimer()
	requireRows(b, db.Pool)
}

const (
	insertFirst  = "INSERT INTO effects (message, body) VALUES ($1, $2)"
	insertSecond = "INSERT INTO orders (customer, body) VALUES ($1, $2)"
)

// rowByRow is what a handler of one message does.
func rowByRow(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
	if _, err := tx.Exec(ctx, insertFirst, msg.UUID, msg.Payload); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertSecond, msg.UUID, msg.Payload)
	return err
}

func bareRows(pool *pgxpool.Pool) func(msg *message.Message) error {
	return func(msg *message.Message) error {
		return pgx.BeginFunc(msg.Context(), pool, func(tx pgx.Tx) error { return rowByRow(msg.Context(), tx, msg) })
	}
}

func queueRows(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
	queue.Queue(insertFirst, msg.UUID, msg.Payload)
	queue.Queue(insertSecond, msg.UUID, msg.Payload)
	return nil
}

// writeRows is what a handler of many messages does.
func writeRows(ctx context.Context, tx pgx.Tx, msgs []*message.Message) error {
	ids, bodies := make([]string, len(msgs)), make([][]byte, len(msgs))
	for i, msg := range msgs {
		ids[i], bodies[i] = msg.UUID, msg.Payload
	}
	if _, err := tx.Exec(ctx, "INSERT INTO effects (message, body) SELECT * FROM unnest($1::uuid[], $2::bytea[])", ids, bodies); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "INSERT INTO orders (customer, body) SELECT * FROM unnest($1::text[], $2::bytea[])", ids, bodies)
	return err
}

// sendRows does what queueRows has queued for many messages.
func sendRows(ctx context.Context, tx pgx.Tx, msgs []*message.Message) error {
	var queue pgx.Batch
	for _, msg := range msgs {
		if err := queueRows(ctx, &queue, msg); err != nil {
			return err
		}
	}
	return tx.SendBatch(ctx, &queue).Close()
}

// deliverBatches hands count new messages to process, size at a time, in lanes.
func deliverBatches(ctx context.Context, lanes, size, count int, process inbox.BatchFunc) (time.Duration, error) {
	messages, err := newMessages(ctx, count)
	if err != nil {
		return 0, err
	}
	return inBatches(ctx, lanes, size, messages, process)
}

// inBatches hands messages to process, size at a time, in lanes. It returns the first errors
// other than those that are meant to be.
func inBatches(ctx context.Context, lanes, size int, messages []*message.Message, process inbox.BatchFunc) (time.Duration, error) {
	batches := slices.Collect(slices.Chunk(messages, size))
	errs := make([]error, lanes)
	var group sync.WaitGroup
	began := time.Now()
	for lane := range lanes {
		group.Go(func() {
			for i := lane; i < len(batches) && errs[lane] == nil; i += lanes {
				for _, err := range process(ctx, batches[i]) {
					errs[lane] = errors.Join(errs[lane], unlessOnPurpose(err))
				}
			}
		})
	}
	group.Wait()
	return time.Since(began), errors.Join(errs...)
}

// requireRows makes sure that the figures are those of work that was done.
func requireRows(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	var effects, orders int
	require.NoError(b, pool.QueryRow(b.Context(), "SELECT count(*), (SELECT count(*) FROM orders) FROM effects").
		Scan(&effects, &orders))
	require.Positive(b, effects)
	require.Equal(b, effects, orders)
}
