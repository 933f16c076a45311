package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// BenchmarkEndToEnd measures the whole way of an event: eight clients insert an order
// each time, its event goes to Kafka, and a Watermill router inserts a row for it in
// another database, eight messages at a time. The clock runs from the first order to
// the last row.
//
//   - leat: outbox, relay, and an inbox around the handler.
//   - at-least-once: outbox and relay; the handler writes in a bare transaction.
//   - dual-write: the order is committed and its event then sent by franz-go, which
//     loses it in a crash between the two; the handler is bare.
//
// Nothing fails here, so that there must be exactly one row an event for each of them.
func BenchmarkEndToEnd(b *testing.B) {
	size := scale(b).endToEnd
	broker := testenv.RealKafka(b)
	contenders := make([]compare.Contender, 0, 3)
	for _, name := range []string{"leat", "at-least-once", "dual-write"} {
		way := newWay(b, broker, name, size.transactions)
		if name == "leat" {
			logSettings(b, way.orders, broker)
		}
		contenders = append(contenders, compare.Contender{Name: name, Ops: size.transactions, Run: way.run})
	}
	for _, c := range contenders { // connections, statements, and the broker
		_, err := c.Run(-1)
		require.NoError(b, err, c.Name)
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "effects/s", contenders...)
}

// way is how a contender's events go.
type way struct {
	b                *testing.B
	broker           *testenv.KafkaEnv
	name             string
	count            int
	orders, consumer *testenv.Database
	handle           func(msg *message.Message) error

	ob  *pgoutbox.Outbox
	raw *rival.Raw // of a dual write
}

func newWay(b *testing.B, broker *testenv.KafkaEnv, name string, count int) *way {
	b.Helper()
	w := &way{
		b: b, broker: broker, name: name, count: count,
		orders: testenv.Postgres(b, migrated()), consumer: testenv.Postgres(b, migrated()),
	}
	w.handle = func(msg *message.Message) error {
		return pgx.BeginFunc(msg.Context(), w.consumer.Pool, func(tx pgx.Tx) error { return insertEffect(msg.Context(), tx, msg) })
	}
	if name == "leat" {
		in, err := pginbox.New(w.consumer.Pool, "benchmark", pginbox.Config{})
		require.NoError(b, err)
		w.handle = in.Handle(inTx(insertEffect))
	}
	if name == "dual-write" {
		raw, err := rival.NewRaw(broker.Brokers)
		require.NoError(b, err)
		b.Cleanup(raw.Close)
		w.raw = raw
		return w
	}
	ob, err := pgoutbox.New(w.orders.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	w.ob = ob
	return w
}

// run sends all events of a round through a topic of its own. One more goes ahead and
// says that all that carries them is up.
func (w *way) run(round int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(w.b.Context(), 5*time.Minute)
	defer cancel()
	topic := w.broker.Topic(w.b, fmt.Sprintf("%s-%d", w.name, round+1), 8)
	messages, err := load.Messages(load.Spec{Messages: w.count + 1, Bytes: 512, Keys: min(w.count, 1_000), Topic: topic})
	if err != nil {
		return 0, err
	}
	effects := make(chan struct{}, len(messages))
	stop, err := consume(ctx, w.broker.Brokers, topic, topic, func(msg *message.Message) error {
		err := w.handle(msg)
		if err == nil {
			effects <- struct{}{}
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	carried, err := w.carry(ctx)
	if err != nil {
		return 0, errors.Join(err, stop())
	}
	took, err := w.time(ctx, messages, effects)
	if err := errors.Join(err, carried(), stop()); err != nil {
		return 0, err
	}
	requireEachEffect(w.b, w.consumer, len(messages))
	return took, nil
}

func (w *way) time(ctx context.Context, messages []outbox.Message, effects <-chan struct{}) (time.Duration, error) {
	if err := w.order(ctx, messages[0]); err != nil {
		return 0, err
	}
	if err := await(ctx, effects, 1); err != nil {
		return 0, err
	}
	began := time.Now()
	_, err := concurrently(ctx, producers, w.count, func(ctx context.Context, i int) error { return w.order(ctx, messages[1+i]) })
	if err == nil {
		err = await(ctx, effects, w.count)
	}
	return time.Since(began), err
}

// await takes count of what arrives.
func await(ctx context.Context, arrived <-chan struct{}, count int) error {
	for i := range count {
		select {
		case <-arrived:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages have had their effect: %w", i, count, ctx.Err())
		}
	}
	return nil
}

// order is the business transaction with its event.
func (w *way) order(ctx context.Context, msg outbox.Message) error {
	insert := func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertOrder, msg.Key, msg.Payload)
		return err
	}
	if w.raw != nil {
		if err := pgx.BeginFunc(ctx, w.orders.Pool, insert); err != nil {
			return err
		}
		return w.raw.Publish(ctx, msg)
	}
	return w.ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := insert(tx); err != nil {
			return err
		}
		return w.ob.Enqueue(ctx, tx, msg)
	})
}

// carry runs the relay until it is told to stop. A dual write has none.
func (w *way) carry(ctx context.Context) (stop func() error, err error) {
	if w.raw != nil {
		return func() error { return nil }, nil
	}
	r, sink, err := openRelay(w.ob, w.broker.Brokers, "end-to-end", relay.Config{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, sink.Close())
	}, nil
}
