package pginbox

import "github.com/leat-go/leat/inbox/internal/pgclaim"

var (
	// ErrEndedInHandler is returned when the handler has ended the transaction by a
	// statement of its own, such as ROLLBACK or COMMIT, or by a second transaction
	// on the same connection. What it did may have committed or not.
	ErrEndedInHandler = pgclaim.ErrEndedInHandler

	// ErrOtherInbox is returned for a consumer that is used with an inbox of ids and with
	// one of positions, package pgwatermark: neither knows what the other has processed.
	// Process returns it on connections that it has not used before.
	ErrOtherInbox = pgclaim.ErrOtherInbox

	// ErrInsertTrigger is returned for every message if the table of ids, or a range of it, has
	// a row trigger before INSERT or a rule for INSERT: an id whose insert one of them
	// suppresses would be taken for processed, or its message run without being remembered.
	// Triggers after INSERT are fine. It is looked at once a connection.
	ErrInsertTrigger = pgclaim.ErrInsertTrigger

	// ErrNotRemembered is returned by HandleQueued if the server has run the claim and inserted
	// nothing, as with a trigger that was created while the connection was open. Unless a
	// statement had a callback, the effects of this one message have committed, and it will
	// run again; those that follow are refused before they run.
	ErrNotRemembered = pgclaim.ErrNotRemembered
)
