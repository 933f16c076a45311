package brokertest_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/amqpsink"
)

//leat:level 2
func TestRabbitMQ(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	run(t, tests.Features{GuaranteedOrderWithSingleSubscriber: true}, true, func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		t.Helper()
		cfg := amqp.NewDurablePubSubConfig(url, amqp.GenerateQueueNameTopicNameWithSuffix(group))
		cfg.Marshaler = amqpsink.Marshaler{}
		cfg.Publish.ConfirmDelivery, cfg.Publish.ChannelPoolSize = true, 10
		publisher, err := amqp.NewPublisher(cfg, watermill.NopLogger{})
		require.NoError(t, err)
		subscriber, err := amqp.NewSubscriber(cfg, watermill.NopLogger{})
		require.NoError(t, err)
		return publisher, subscriber
	})
}
