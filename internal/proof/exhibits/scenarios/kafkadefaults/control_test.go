package kafkadefaults

import (
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/exhibits/testbed/testbedtest"
)

//leat:level 4
func TestMain(m *testing.M) { testbedtest.Main(m) }

// With a key, an idempotent producer and OffsetOldest (watermill-kafka has a setting for each), nothing is
// reordered, duplicated or lost: the exhibit convicts only the defaults.
func TestControl_Key(t *testing.T) {
	t.Parallel()
	bed := testbedtest.New(t)
	topic, err := bed.CreateTopic(t.Context(), "key-control", partitions)
	require.NoError(t, err)
	require.NoError(t, publishAs(bed, topic, nil, byKey(), numbered()...))

	o, err := consume(t.Context(), bed, topic, "key-control")
	require.NoError(t, err)
	require.Zero(t, o)
}

func TestControl_IdempotentProducer(t *testing.T) {
	t.Parallel()
	bed := testbedtest.New(t)
	topic, err := bed.CreateTopic(t.Context(), "ack-control", 1)
	require.NoError(t, err)
	cut := new(cutter)
	config := proxied(cut)
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	require.NoError(t, publish(bed, topic, config, "m1"))

	o, err := inTopic(t.Context(), bed, topic, cut)
	require.NoError(t, err)
	require.Zero(t, o)
}

func TestControl_OffsetOldest(t *testing.T) {
	t.Parallel()
	bed := testbedtest.New(t)
	o, err := meanwhile(t.Context(), bed, "newest-control", func(group string) (message.Subscriber, error) {
		return subscriber(bed, group)
	})
	require.NoError(t, err)
	require.Zero(t, o)
}
