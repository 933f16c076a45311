package servers

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Relay sends the committed messages in ob to Kafka and prints the records that are then in topic.
// It is for examples that are about the producer; the README shows how a service runs its relay.
func (s *Servers) Relay(ctx context.Context, ob *pgoutbox.Outbox, topic string) error {
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	sink, err := kafkasink.New(s.Brokers, kafkasink.Config{})
	if err != nil {
		return err
	}
	defer sink.Close()
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	n, err := r.RunOnce(ctx)
	if err != nil {
		return err
	}
	records, err := s.Read(ctx, topic, n)
	for _, record := range records {
		fmt.Printf("in Kafka: key %s, %s\n", record.Key, record.Value)
	}
	return err
}

// StopAfter is a middleware that calls stop once n messages have been handled
// without an error. Examples end; a service's router runs until it is stopped.
func StopAfter(n int64, stop func()) message.HandlerMiddleware {
	var handled atomic.Int64
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			out, err := h(msg)
			if err == nil && handled.Add(1) >= n {
				stop()
			}
			return out, err
		}
	}
}
