package inbox

import (
	"errors"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
)

var (
	// ErrNoMessageID is returned for a message in which the IDSource finds no id. Without an id a
	// redelivery cannot be recognised, so the handler is not run.
	ErrNoMessageID = errors.New("leat: message has no id")

	// ErrBusy is returned while another delivery of the same message is being processed. It is
	// not a failure: the message must be delivered again, once the other delivery has ended.
	ErrBusy = driver.ErrBusy

	// ErrAckedBeforeCommit is returned when the message was acknowledged or refused before its
	// transaction could commit, as Watermill's InstantAck does outside the inbox. The transaction
	// is rolled back: its effects could be lost. A handler has its own copy of the message, whose
	// Ack changes nothing. This error is also returned if the handler nacks the copy and returns
	// nil.
	ErrAckedBeforeCommit = lent.Err

	// ErrRollbackOnly is returned when the handler returned nil although the
	// transaction must not commit: it was marked by MarkRollbackOnly, a statement
	// in it has failed, or the handler has rolled it back itself.
	ErrRollbackOnly = driver.ErrRollbackOnly

	// ErrNotClaimed is returned when the store could not answer: the database is unavailable, not
	// migrated, or refuses. The handler was not run, and the error does not mean that the message
	// is bad.
	ErrNotClaimed = errors.New("leat: message could not be claimed")

	// ErrCommitUnknown is returned when the commit failed or was cut off, so that
	// it is not known whether it took effect. The next delivery finds out.
	ErrCommitUnknown = errors.New("leat: outcome of the commit is unknown")

	// ErrConflict is returned if the database refused the transaction for conflicts with
	// others in all of Config.ConflictRetries.
	ErrConflict = errors.New("leat: transaction conflicts with others")

	// ErrTwoHandlers is returned for every message once two handlers of a router, with different
	// names, have called one Processor; without a router, two functions that were given to
	// Handle, HandleEach and the like. A Processor remembers messages for one handler: the
	// messages of the first handler would be duplicates for the second. Give each a Processor
	// with a name of its own; see middleware.InboxConfig.For. No attempt is counted, and no
	// message is given up.
	ErrTwoHandlers = onehandler.Err

	// ErrFingerprintMismatch is returned for a message with the id of a processed message, but
	// another fingerprint. It is never acknowledged as a duplicate.
	ErrFingerprintMismatch = errors.New("leat: another message with this id was processed")

	// ErrNotGivenUp is returned when a message should have been parked, dead lettered or handed
	// to Policy.Handle, and could not be. It will be redelivered.
	ErrNotGivenUp = errors.New("leat: message could not be given up")
)
