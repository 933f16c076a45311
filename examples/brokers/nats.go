package brokers

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmsink"
)

// NATS relays source to the streams of JetStream, until ctx ends.
func NATS(ctx context.Context, source driver.Source, url string, logger watermill.LoggerAdapter) error {
	publisher, err := nats.NewPublisher(nats.PublisherConfig{URL: url}, logger)
	if err != nil {
		return err
	}
	sink, err := wmsink.New(publisher, wmsink.Config{Lanes: 16})
	if err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	err = r.Run(ctx)
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, sink.Wait(waiting), publisher.Close()) // no message is on its way by then
}
