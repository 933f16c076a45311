package wmoutbox

import (
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// convert returns msgs as messages of the outbox, in the same order.
func convert(topic string, msgs []*message.Message, key outbox.KeyFunc) ([]outbox.Message, error) {
	out := make([]outbox.Message, len(msgs))
	for i, msg := range msgs {
		if msg == nil {
			return nil, nilMessage(i)
		}
		m, err := outbox.FromWatermill(topic, msg, key)
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

func nilMessage(i int) error {
	return &outbox.InvalidMessageError{
		Index: i, Field: "UUID", Value: "nil", Reason: "belongs to a message that is nil",
	}
}
