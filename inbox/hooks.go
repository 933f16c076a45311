package inbox

import (
	"context"
	"time"
)

// DeliveryHook sees how every delivery ended.
type DeliveryHook interface {
	// OnInboxDelivery is called once a delivery, after its transaction has ended and
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
