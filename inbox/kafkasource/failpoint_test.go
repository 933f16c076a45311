package kafkasource_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI1_AckLost: an ack that never arrives brings the message again, and the inbox
// recognises it.
func TestI1_AckLost(t *testing.T) {
	t.Parallel()
	env, pool := testenv.RealKafka(t), database(t)
	topic := env.Topic(t, "ack-lost", 1)
	fill(t, env, topic, 3, 0)
	points := &failpointtest.Registry{}
	require.NoError(t, points.EnableAt(failpoint.ConsumerAckLost, 2, failpointtest.Error(nil)))
	w := work(failpointtest.With(t.Context(), points), t, pool, env, topic, "w", brisk(), easy)
	w.ends.await(t, inbox.OutcomeDuplicate, 1)
	w.ends.await(t, inbox.OutcomeCommitted, 3)
	w.stop()
	require.Equal(t, [2]int{3, 3}, effects(t, pool))
	require.EqualValues(t, 3, committed(t, env.Brokers, env.Name("group"), topic, 0))
}

// TestI1_RebalanceMidHandler: a second member joins exactly while a handler of
// the first runs, which then takes longer than it may. The second member runs the
// message; one of the two commits.
func TestI1_RebalanceMidHandler(t *testing.T) {
	t.Parallel()
	env, pool := testenv.RealKafka(t), database(t)
	topic := env.Topic(t, "mid-handler", 2)
	c := client(t, env.Brokers)
	for p := range int32(2) {
		require.NoError(t, c.ProduceSync(t.Context(), record(topic, p, strconv.Itoa(int(p)), "k")).FirstErr())
	}
	cfg := brisk()
	cfg.DrainTimeout = cfg.SessionTimeout / 60
	join, joined := make(chan struct{}, 2), make(chan struct{})
	points := &failpointtest.Registry{}
	require.NoError(t, points.Enable(failpoint.ConsumerRebalanceMidHandler, failpointtest.Call(func(context.Context) error {
		join <- struct{}{}
		return nil
	})))
	first := work(failpointtest.With(t.Context(), points), t, pool, env, topic, "first", cfg, func(ctx context.Context, _ *message.Message) error {
		select {
		case <-joined:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	await(t, join, "the point is reached")
	await(t, join, "the point is reached in the other partition")
	second := work(t.Context(), t, pool, env, topic, "second", cfg, easy)
	first.parts.await(t, released, 1)
	second.ends.await(t, inbox.OutcomeCommitted, 1)
	close(joined)
	first.ends.await(t, inbox.OutcomeCommitted, 1)
	first.stop()
	second.stop()
	require.Equal(t, [2]int{2, 2}, effects(t, pool))
}
