package pgwatermark

import "github.com/leat-go/leat/inbox/internal/pgclaim"

// Errors that package pginbox has as well, with more about each.
var (
	// ErrTooManyConsumers is returned if a new consumer would be the 32,768th.
	ErrTooManyConsumers = pgclaim.ErrTooManyConsumers

	// ErrCommitInHandler is returned by Commit of the transaction that a handler gets.
	ErrCommitInHandler = pgclaim.ErrCommitInHandler

	// ErrEndedInHandler is returned if the handler has ended the transaction by a
	// statement of its own. What it did may have committed or not.
	ErrEndedInHandler = pgclaim.ErrEndedInHandler

	// ErrOtherInbox is returned by Assigned for a consumer that is used with an inbox of
	// ids as well: neither knows what the other has processed.
	ErrOtherInbox = pgclaim.ErrOtherInbox
)
