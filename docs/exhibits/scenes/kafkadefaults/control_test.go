package kafkadefaults

import (
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/docs/exhibits/stage/stagetest"
)

func TestMain(m *testing.M) { stagetest.Main(m) }

// With a key, an idempotent producer and OffsetOldest, all of which watermill-kafka
// lets one set, nothing is reordered, doubled or lost: it is the defaults that the
// exhibit convicts.
func TestControl_Key(t *testing.T) {
	t.Parallel()
	s := stagetest.New(t)
	topic, err := s.CreateTopic(t.Context(), "key-control", partitions)
	require.NoError(t, err)
	require.NoError(t, publishAs(s, topic, nil, byKey(), numbered()...))

	o, err := consume(t.Context(), s, topic, "key-control")
	require.NoError(t, err)
	require.Zero(t, o)
}

func TestControl_IdempotentProducer(t *testing.T) {
	t.Parallel()
	s := stagetest.New(t)
	topic, err := s.CreateTopic(t.Context(), "ack-control", 1)
	require.NoError(t, err)
	cut := new(cutter)
	config := proxied(cut)
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	require.NoError(t, publish(s, topic, config, "m1"))

	o, err := inTopic(t.Context(), s, topic, cut)
	require.NoError(t, err)
	require.Zero(t, o)
}

func TestControl_OffsetOldest(t *testing.T) {
	t.Parallel()
	s := stagetest.New(t)
	o, err := meanwhile(t.Context(), s, "newest-control", func(group string) (message.Subscriber, error) {
		return subscriber(s, group)
	})
	require.NoError(t, err)
	require.Zero(t, o)
}
