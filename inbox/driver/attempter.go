package driver

import (
	"context"
	"time"
)

// Attempter is a Store that counts attempts. Its records are durable when the call returns,
// independent of the transaction of any Unit: an attempt counts even if it leaves no other trace.
// A Store tries once and returns its error.
type Attempter interface {
	Store

	// Attempt notes that the handler is about to run for the message called id. It should not
	// count the attempt if the message was processed or is in progress; if it does, Withdraw or
	// Settle follows.
	Attempt(ctx context.Context, id string, key Key) (Attempt, error)

	// Fail adds an error to the history of the message called id and returns it.
	Fail(ctx context.Context, id string, failed AttemptError) (History, error)

	// Withdraw undoes the newest attempt, whose failure had nothing to do with the message.
	Withdraw(ctx context.Context, id string) error

	// Settle reports that the history of the message called id is not needed any more. The Store
	// forgets it when that is cheap. Settle neither waits nor fails.
	Settle(id string)
}

// Attempt is the answer to Attempter.Attempt.
type Attempt struct {
	// Number is the attempt's number, from 1, or 0 if it was not counted.
	Number int
	// KeyParked is set if a message of the key is parked. Only a Parker sets it.
	KeyParked bool
}

// Key is the ordering key of messages of one consumer. Messages whose Key has no Name are not
// ordered.
type Key struct {
	Topic, Name string
}

// History describes the attempts at one message.
type History struct {
	// Attempts is how many attempts began.
	Attempts int
	// First and Last are when the first and the last of them began, by the Store's
	// clock. Both are zero if nothing is known.
	First, Last time.Time
	// Errors are the newest hundred errors, the oldest first. Attempts that ended
	// with their process have left none.
	Errors []AttemptError
}

// AttemptError is how an attempt failed.
type AttemptError struct {
	// At is this process's clock.
	At time.Time
	// Error is the text of the error, at most 2,000 bytes of UTF-8.
	Error string
}

// MaxHistoryErrors is how many errors a History keeps.
const MaxHistoryErrors = 100
