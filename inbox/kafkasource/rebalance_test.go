package kafkasource_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestI1_RebalanceWithHandlersInFlightCommitsOnce: a second member comes while the
// first has a handler in every partition. The first lets go only when its handlers
// have ended, so nothing is delivered twice even without an inbox.
func TestI1_RebalanceWithHandlersInFlightCommitsOnce(t *testing.T) {
	t.Parallel()
	const parts = 4
	env, pool := testenv.RealKafka(t), database(t)
	topic := env.Topic(t, "rebalance", parts)
	writer := client(t, env.Brokers)
	for p := range int32(parts) {
		require.NoError(t, writer.ProduceSync(t.Context(), record(topic, p, "in flight "+strconv.Itoa(int(p)), "k")).FirstErr())
	}

	inside, goOn := make(chan struct{}, parts), make(chan struct{})
	cfg := brisk()
	cfg.DrainTimeout = 2 * time.Second
	first := work(t.Context(), t, pool, env, topic, "first", cfg, func(ctx context.Context, msg *message.Message) error {
		inside <- struct{}{}
		select {
		case <-goOn:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	for range parts {
		await(t, inside, "a handler runs")
	}
	second := work(t.Context(), t, pool, env, topic, "second", cfg, easy)
	// The second waits for the first, whose handlers hold up the rebalance.
	var once sync.Once
	time.AfterFunc(300*time.Millisecond, func() { once.Do(func() { close(goOn) }) })
	second.parts.await(t, assigned, parts/2)
	first.parts.await(t, released, parts/2)
	for p := range int32(parts) {
		require.NoError(t, writer.ProduceSync(t.Context(), record(topic, p, "after "+strconv.Itoa(int(p)), "k")).FirstErr())
	}
	second.ends.await(t, inbox.OutcomeCommitted, parts/2)
	first.ends.await(t, inbox.OutcomeCommitted, parts+parts/2)
	first.stop()
	second.stop()
	require.Equal(t, [2]int{2 * parts, 2 * parts}, effects(t, pool))
	for p := range int32(parts) {
		require.EqualValues(t, 2, committed(t, env.Brokers, env.Name("group"), topic, p))
	}
	require.Zero(t, first.ends.counts[inbox.OutcomeDuplicate]+second.ends.counts[inbox.OutcomeDuplicate])
}

// TestI1_OverdueHandlerIsCancelled: a handler that outlasts DrainTimeout has its
// context cancelled, what it wrote is rolled back, and the partition's next owner
// runs the message.
func TestI1_OverdueHandlerIsCancelled(t *testing.T) {
	t.Parallel()
	env, pool := testenv.RealKafka(t), database(t)
	topic := env.Topic(t, "overdue", 2)
	writer := client(t, env.Brokers)
	inside, causes := make(chan struct{}, 10), make(chan error, 10)
	cfg := brisk()
	cfg.DrainTimeout = 200 * time.Millisecond
	first := work(t.Context(), t, pool, env, topic, "first", cfg, func(ctx context.Context, _ *message.Message) error {
		inside <- struct{}{}
		<-ctx.Done() // it never comes to an end by itself
		causes <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	for p := range int32(2) {
		require.NoError(t, writer.ProduceSync(t.Context(), record(topic, p, strconv.Itoa(int(p)), "")).FirstErr())
	}
	await(t, inside, "a handler runs")
	await(t, inside, "a handler runs")
	second := work(t.Context(), t, pool, env, topic, "second", cfg, easy)
	require.ErrorIs(t, await(t, causes, "a context ends"), kafkasource.ErrRevoked)
	second.ends.await(t, inbox.OutcomeCommitted, 1)
	first.stop() // which cancels the other handler
	require.ErrorIs(t, await(t, causes, "the other context ends"), outbox.ErrClosed)
	second.ends.await(t, inbox.OutcomeCommitted, 2)
	second.stop()
	require.Equal(t, [2]int{2, 2}, effects(t, pool))
	require.Zero(t, first.ends.counts[inbox.OutcomeCommitted])
}

// TestI3_CloseDrainsAndCommits: Close waits for handlers, commits what they have
// acked, and delivers nothing new; the next member goes on there.
func TestI3_CloseDrainsAndCommits(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "close", 1)
	fill(t, env, topic, 10, 10)
	cfg := brisk()
	cfg.Concurrency, cfg.CommitInterval = 2, time.Hour
	s := newSubscriber(t, env.Brokers, env.Name("group"), cfg)
	msgs := subscribe(t, s, topic)
	receive(t, msgs).Ack()
	a, b := receive(t, msgs), receive(t, msgs)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = s.Close()
	}()
	_, open := <-msgsAfter(t, msgs, a, b, closed)
	require.False(t, open)
	require.EqualValues(t, 3, committed(t, env.Brokers, env.Name("group"), topic, 0))
	next := receive(t, subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), cfg), topic))
	require.Contains(t, []string{"3", "4"}, next.UUID)
	next.Ack()
}

// msgsAfter acks a and b while Close waits for them, and returns msgs when Close is
// over.
func msgsAfter(t *testing.T, msgs <-chan *message.Message, a, b *message.Message, closed <-chan struct{}) <-chan *message.Message {
	t.Helper()
	for _, msg := range []*message.Message{a, b} {
		select {
		case <-closed:
			require.Fail(t, "Close did not wait")
		case <-msg.Context().Done():
			require.Fail(t, "the context ended before the handler")
		case <-time.After(50 * time.Millisecond):
		}
		msg.Ack()
	}
	await(t, closed, "Close returns")
	return msgs
}
