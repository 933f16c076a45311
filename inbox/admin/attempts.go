package admin

import (
	"errors"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

// AttemptsQuery selects messages that are being tried, by all of its fields that are set.
type AttemptsQuery struct {
	// Consumer is the consumer whose messages are listed. Required.
	Consumer string
	// Since selects messages whose last attempt began at this time or later, by the
	// store's clock.
	Since time.Time
	// All also selects messages that have not failed yet: the handler may be running for the
	// first time, or may just have ended. Defaults to false.
	All bool
	// After is the ID of the last message of the page before.
	// Defaults to the start.
	After string
	// Limit bounds the messages that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *AttemptsQuery) complete() error {
	limit, err := limitOr(q.Limit, 100)
	q.Limit = limit
	return errors.Join(required(field{"Consumer", q.Consumer}), err)
}

// Attempts describes the attempts at one message that, as far as the store knows yet, was neither
// processed nor given up.
type Attempts struct {
	// Consumer is the consumer of the message.
	Consumer string
	// ID is the id in stored form: the message's own if that is a canonical UUID, else one
	// derived from it. Lookup accepts both.
	ID string

	driver.History
}
