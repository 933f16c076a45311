package kafkasource_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// crashWithOneUnacked has a member ack all of 100 messages but number 10, and then
// die without a word.
func crashWithOneUnacked(t *testing.T, env *testenv.KafkaEnv, topic, group string) {
	t.Helper()
	fill(t, env, topic, 100, 100)
	way, parts := &network{}, newPartitions()
	cfg := brisk()
	cfg.Options = []kgo.Opt{kgo.Dialer(way.dial)}
	cfg.Hooks = []outbox.Hook{parts}
	msgs := subscribe(t, newSubscriber(t, env.Brokers, group, cfg), topic)
	for range 100 {
		msg := receive(t, msgs)
		if msg.UUID != "10" {
			msg.Ack()
		}
	}
	for committed(t, env.Brokers, group, topic, 0) < 10 {
		await(t, time.After(10*time.Millisecond), "a pause")
	}
	way.fallSilent()
	parts.await(t, lost, 1)
}

// TestI3_LowWatermarkNeverPassesAnUnackedMessage: what is committed is where the
// next member begins, and that is the one message that was not acked. The price is
// that those above it come again.
//
//leat:level 2
func TestI3_LowWatermarkNeverPassesAnUnackedMessage(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic, group := env.Topic(t, "watermark", 1), env.Name("group")
	crashWithOneUnacked(t, env, topic, group)
	require.EqualValues(t, 10, committed(t, env.Brokers, group, topic, 0))
	msgs := subscribe(t, newSubscriber(t, env.Brokers, group, brisk()), topic)
	again := map[string]bool{}
	for range 90 {
		msg := receive(t, msgs)
		again[msg.UUID] = true
		msg.Ack()
	}
	for i := range 100 {
		require.Equal(t, i >= 10, again[strconv.Itoa(i)], "message %d", i)
	}
}

// TestI3_HighestAckedOffsetLoses is the negative control: a group that commits the
// highest offset that was acked never sees the message below it again.
//
//leat:level 2
func TestI3_HighestAckedOffsetLoses(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic, group := env.Topic(t, "highest", 1), env.Name("group")
	crashWithOneUnacked(t, env, topic, group)
	c := client(t, env.Brokers)
	highest := kadm.Offsets{}
	highest.Add(kadm.Offset{Topic: topic, Partition: 0, At: 100, LeaderEpoch: -1})
	for { // until the dead member's session is over
		answers, err := kadm.NewClient(c).CommitOffsets(t.Context(), group, highest)
		require.NoError(t, err)
		if answers.Error() == nil {
			break
		}
		await(t, time.After(100*time.Millisecond), "a pause")
	}
	require.NoError(t, c.ProduceSync(t.Context(), record(topic, 0, "next", "")).FirstErr())
	msg := receive(t, subscribe(t, newSubscriber(t, env.Brokers, group, brisk()), topic))
	require.Equal(t, "next", msg.UUID, "message 10 is lost")
	msg.Ack()
}
