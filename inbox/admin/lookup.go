package admin

import (
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/inbox/driver"
)

// LookupQuery names a message.
type LookupQuery struct {
	// ID is the message's id. Required.
	ID string
	// Consumer is the consumer to ask. Defaults to all consumers.
	Consumer string
}

func (q *LookupQuery) complete() error {
	var err error
	if q.ID == "" {
		err = fmt.Errorf("%w: ID is empty", ErrInvalidRequest)
	}
	return errors.Join(err, storableTexts(field{"Consumer", q.Consumer}))
}

// SightingState is the state of a message in one consumer.
type SightingState string

const (
	// NotSeen is a message that the consumer does not know.
	NotSeen SightingState = "not_seen"
	// Forgotten is a message that the consumer does not know, and which is older than
	// what it remembers: it may have been processed.
	Forgotten SightingState = "forgotten"
	// Failing is a message that was attempted, and that no process is handling at the moment.
	Failing SightingState = "failing"
	// Running is a message that a process is handling.
	Running SightingState = "running"
	// Parked is a message that is parked, or waits behind one that is.
	Parked SightingState = "parked"
	// Processed is a message that took effect, or was given up for good: dropped, or sent
	// to the dead letters.
	Processed SightingState = "processed"
)

// Sighting is the record that one consumer has of a message.
type Sighting struct {
	// Consumer is the consumer that was asked.
	Consumer string
	// State is the first matching one of Parked, Processed, Running, Failing, Forgotten and
	// NotSeen.
	State SightingState
	// ProcessedAt is when it was processed or given up, by the store's clock, to the minute; zero
	// if that is not stored, as for ids of version 7 that are in ranges.
	ProcessedAt time.Time
	// Note is the note kept with the id, nil if there is none.
	Note *driver.Note
	// History describes its attempts, if it was not processed.
	History driver.History
	// Parked are the numbers of the parked messages with this id, for Parked: more than
	// one if a producer has used the id twice.
	Parked []int64
}
