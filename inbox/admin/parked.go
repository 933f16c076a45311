package admin

import (
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
)

// ParkedState is the state of a parked message.
type ParkedState string

const (
	// StateParked is a message that waits for an operator.
	StateParked ParkedState = "parked"
	// StateRedrive is a message that RunRedrive will run.
	StateRedrive ParkedState = "redrive"
	// StateWait is a message that follows another one of its key.
	StateWait ParkedState = "wait"
)

// ParkedQuery selects parked messages, by all of its fields that are set.
type ParkedQuery struct {
	// Consumer is the consumer of the messages. Required with Key. Defaults to all consumers.
	Consumer string
	// Topic must be equal. With Key it selects the messages of one key.
	Topic, Key string
	// ID is the message's id.
	ID string
	// State must be equal.
	State ParkedState
	// Fingerprint is the fingerprint of the reason, as returned by Inbox.Failures.
	Fingerprint string
	// Before selects messages that were parked before it, by the store's clock.
	Before time.Time
	// After is the No of the last message of the page before.
	// Defaults to the start.
	After int64
	// Limit bounds the messages that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
	// OmitPayload leaves the payloads out. Defaults to false.
	OmitPayload bool
}

func (q *ParkedQuery) complete() error {
	limit, err := limitOr(q.Limit, 100)
	q.Limit = limit
	if q.Key != "" && q.Consumer == "" {
		err = errors.Join(err, fmt.Errorf("%w: Key = %.200q: needs a Consumer", ErrInvalidRequest, q.Key))
	}
	switch q.State {
	case "", StateParked, StateRedrive, StateWait:
	default:
		err = errors.Join(err, fmt.Errorf("%w: State = %.200q: must be parked, redrive or wait", ErrInvalidRequest, string(q.State)))
	}
	return errors.Join(err, storableTexts(field{"Consumer", q.Consumer}, field{"Topic", q.Topic}, field{"Fingerprint", q.Fingerprint}))
}

// ParkedMessage is a message that waits for an operator, or behind one that does.
type ParkedMessage struct {
	// No grows with each message that is parked. It has gaps.
	No int64
	// Consumer is the consumer of the message.
	Consumer string
	// State is the state of the message.
	State ParkedState
	// ID is the message's id, empty if it has none.
	ID string
	// Topic and Key are the topic and the key within which it is ordered.
	Topic, Key string
	// Message is the message as it arrived, without its payload if OmitPayload was set.
	Message *message.Message
	// PayloadBytes is the length of the payload.
	PayloadBytes int
	// History describes its attempts.
	History driver.History
	// Tries is the number of attempts since it was redriven.
	Tries int
	// Reason is the reason for parking it, empty if it follows another message.
	Reason string
	// ParkedAt is when it was parked, by the store's clock.
	ParkedAt time.Time
}
