package admin

import (
	"time"

	common "github.com/leat-go/leat/outbox/admin"
)

// By is who asks for a change, and why: the same as for an outbox.
type By = common.By

// Selection selects parked messages in one of three ways: those of Topic and Key;
// those with ID; or those that pass the filter of OfTopic and Before, each of
// which may be left out.
type Selection struct {
	// Topic and Key select the messages of one key. Topic is empty for messages that
	// did not come through a router.
	Topic, Key string

	// ID selects the messages with this id.
	ID string

	// OfTopic selects the messages of a topic.
	OfTopic string
	// Before selects messages that were parked before it, by the database's clock.
	Before time.Time

	// Limit bounds the parked messages that a filter selects, 1 to 10,000.
	// Defaults to 1,000.
	Limit int
}

// RedriveRequest asks to try messages again.
type RedriveRequest struct {
	By
	Selection
}

// DropRequest asks to drop messages.
type DropRequest RedriveRequest

// SkipHeadRequest asks to drop the first message of a parked key.
type SkipHeadRequest struct {
	By

	// Topic and Key are those of the message. Key is required.
	Topic, Key string
}

// Changed is what a request has changed; IDs are in the order in which the messages were
// parked.
type Changed = common.Changed
