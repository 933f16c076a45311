package admin

import (
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
)

// MaxLimit bounds what one call lists or changes.
const MaxLimit = 10_000

// ParkedQuery selects parked messages, by all of its fields that are set.
type ParkedQuery struct {
	// Topic must be equal. With Key it selects the messages of one key.
	Topic, Key string
	// ID is the message's id.
	ID string
	// Before selects messages that were parked before it, by the database's clock.
	Before time.Time
	// After is the No of the last message of the page before.
	// Defaults to the start.
	After int64
	// Limit bounds the messages that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// ParkedMessage is a message that waits for an operator, or behind one that does.
type ParkedMessage struct {
	// No grows with each message that is parked. It has gaps.
	No int64
	// State is "parked" if the message waits for an operator, "redrive" if
	// RunRedrive is to run it, and "wait" if it follows another one of its key.
	State string
	// ID is the message's id, empty if it has none.
	ID string
	// Topic and Key order it.
	Topic, Key string
	// Message is the message as it came.
	Message *message.Message
	// History is what is known of its attempts.
	History driver.History
	// Tries is the number of attempts since it was redriven.
	Tries int
	// Reason is why it was parked, empty if it follows another one.
	Reason string
	// ParkedAt is when it was parked, by the database's clock.
	ParkedAt time.Time
}
