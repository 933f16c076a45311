package deduplicator

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wmiddleware "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

const (
	topic     = "orders"
	messageID = "0198f3d4-7d1a-7c35-9a53-1f6d4f1f8a01"
)

// retries is how often the router retries by itself before it nacks the message. The retries are inside
// the middleware that suppresses repeats, as is recommended.
const retries = 2

// process is a router on a broker that redelivers messages that are not acknowledged.
type process struct {
	broker  *gochannel.GoChannel
	service *testbed.Service
}

// start runs a process. refused is called for each delivery that is nacked, with the error.
func start(ctx context.Context, suppress message.HandlerMiddleware, handle message.NoPublishHandlerFunc, refused func(error)) (*process, error) {
	broker := gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, nil)
	watch := func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			out, err := h(msg)
			if err != nil {
				refused(err)
			}
			return out, err
		}
	}
	retry := wmiddleware.Retry{MaxRetries: retries, InitialInterval: time.Millisecond}
	service, err := testbed.StartService(ctx, topic, broker, handle, watch, suppress, retry.Middleware)
	if err != nil {
		return nil, errors.Join(err, broker.Close())
	}
	return &process{broker: broker, service: service}, nil
}

// deliver sends the message. It returns when the message was acknowledged, or the process has stopped.
func (p *process) deliver() error {
	return p.broker.Publish(topic, message.NewMessage(messageID, []byte(`{"order":1}`)))
}

func (p *process) stop() error {
	return errors.Join(p.service.Stop(), p.broker.Close())
}
