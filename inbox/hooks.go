package inbox

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// DeliveryHook is called with the outcome of every delivery.
type DeliveryHook interface {
	// OnInboxDelivery is called once for each delivery, after its transaction has ended and
	// before the message is acknowledged.
	OnInboxDelivery(ctx context.Context, e DeliveryEvent)
}

// DeliveryEvent is a delivery that has ended.
type DeliveryEvent struct {
	// Consumer is the name of the consumer.
	Consumer string
	// ID is the message's id, empty if it has none.
	ID string
	// Topic is the topic that the message was read from, as Watermill's router notes it;
	// empty if it does not, and for a message that is redriven.
	Topic string
	// OccurredAt is the time of the event, if the producer has given one in header
	// outbox.HeaderEventTime, as leat does; else zero.
	OccurredAt time.Time
	// Attempt is the number of this attempt at the message, from 1; if Redriven is set, counted
	// since the redrive. It is 0 if attempts are not counted (Block), and for duplicates, Busy
	// messages and messages in a batch, whose attempts are not counted.
	Attempt int
	// Outcome is how it ended.
	Outcome Outcome
	// Took is the time from the claim to the end of the transaction, the wait of a
	// delivery that failed or was Busy included.
	Took time.Duration
	// Err is the error that Process returned; it is also nil for OutcomePanicked.
	Err error
	// Redriven is set if the message came from RunRedrive and not from a broker.
	Redriven bool
}

// occurredAt returns the time of msg's event, if there are hooks that need it.
func (p *Processor) occurredAt(msg *message.Message) time.Time {
	if len(p.cfg.Hooks) == 0 {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, msg.Metadata.Get(outbox.HeaderEventTime))
	if err != nil {
		return time.Time{}
	}
	return at
}
