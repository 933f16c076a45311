package driver

import "errors"

// Errors that a Store returns. Package inbox exports ErrBusy and ErrRollbackOnly under the same
// names, since Process returns them, too.
var (
	// ErrBusy is returned while another delivery of the message, or another session of
	// the partition, is in progress.
	ErrBusy = errors.New("leat: message is being processed elsewhere")

	// ErrDuplicate is wrapped by the error of a Unit.Commit that has not taken effect because a
	// commit of the same message has. A Store returns it if it cannot tell earlier that a copy is
	// in progress. The message is processed, and is acknowledged.
	ErrDuplicate = errors.New("leat: message was processed meanwhile")

	// ErrNotCommitted is wrapped by the error of a Unit.Commit that has certainly
	// not taken effect, such as one that the database refused for a conflict.
	ErrNotCommitted = errors.New("leat: not committed")

	// ErrRollbackOnly is wrapped in addition to ErrNotCommitted if a statement in the transaction
	// has failed, or the handler has rolled it back.
	ErrRollbackOnly = errors.New("leat: transaction is marked as rollback only")

	// ErrEnded is returned by Unit.Commit if the transaction was not open any more. Either the
	// handler has ended it, by a statement of its own or by a second transaction on the same
	// connection, or the database has, after a statement whose error the handler did not return.
	// The handler's writes may have been committed or not.
	ErrEnded = errors.New("leat: the transaction of the inbox was ended before its COMMIT")

	// ErrBatchTooLarge is wrapped by the error of a BatchStore that has no room for this number of claims:
	// fewer may succeed.
	ErrBatchTooLarge = errors.New("leat: too many messages to claim at a time")

	// ErrTooOld is returned for a message whose id is older than what the store remembers for
	// certain: it may have been processed and forgotten, or never been seen. It was not run and
	// must not be acknowledged; only an operator, or a policy that they have chosen, can decide
	// which of the two it is.
	ErrTooOld = errors.New("leat: message is older than what the inbox remembers")

	// ErrTooNew is returned for a message whose id, by the time in it, is further in the future
	// than clocks may differ. It was not run: the store would have to remember it until then.
	ErrTooNew = errors.New("leat: message id is from the future")
)
