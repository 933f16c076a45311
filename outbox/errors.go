package outbox

import (
	"errors"
	"fmt"
)

var (
	// ErrNotInTransaction is returned when Enqueue is given anything but a
	// transaction that is open: nil, one that has ended, or a context that
	// carries none.
	ErrNotInTransaction = errors.New("leat: not in a transaction")

	// ErrWrongDatabase is returned when the transaction does not belong to the outbox's database.
	ErrWrongDatabase = errors.New("leat: the transaction belongs to another database than the outbox")

	// ErrInvalidMessage is wrapped by every *InvalidMessageError.
	ErrInvalidMessage = errors.New("leat: invalid message")

	// ErrInvalidConfig is returned by constructors whose configuration cannot
	// work. The text names the field and its value.
	ErrInvalidConfig = errors.New("leat: invalid configuration")

	// ErrCommitUnknown is wrapped by the error of a function that commits, such as InTx, if the
	// connection ended while COMMIT was on its way: the transaction may have been committed or
	// not. Look for what it wrote before you try again. After any other error of such a function
	// it was not committed, unless the function it was given has ended the transaction itself.
	ErrCommitUnknown = errors.New("leat: outcome of the commit is unknown")

	// ErrNotMigrated is returned when the schema is missing, or older than this
	// version of the library can work with.
	ErrNotMigrated = errors.New("leat: schema is not migrated")

	// ErrNotDurable is returned while the database answers a COMMIT before it is durable, as
	// PostgreSQL does with synchronous_commit off. A server crash could then undo messages that
	// were already published, or the effects of a message that was acknowledged. The text names
	// the setting.
	ErrNotDurable = errors.New("leat: commits are not durable")

	// ErrRowSecurity is returned if row level security would hide rows from the role: a hidden
	// message would never be sent, and a hidden id would be neither new nor processed. Give the
	// role BYPASSRLS, or disable it. The text names the table.
	ErrRowSecurity = errors.New("leat: row level security would hide rows; give the role BYPASSRLS, or disable it")

	// ErrAlreadyRunning is returned if Run, or a method that does the same work once, is called
	// while another such call runs on the same value. The text names the kind of value.
	ErrAlreadyRunning = errors.New("leat: already running")

	// ErrClosed is returned after Close. Sinks return it for each record, as FailureOutage.
	ErrClosed = errors.New("leat: closed")
)

// InvalidMessageError names the field and the message that were refused, and the reason.
// Nothing of the call was written. It wraps ErrInvalidMessage.
type InvalidMessageError struct {
	// Index is the message's place in the call, from 0.
	Index int
	// Field is the name of the field of Message, such as "Topic" or
	// `Headers["x"]`.
	Field string
	// Value is the offending value, shortened.
	Value string
	// Reason explains why the value is wrong, with the bound if there is one.
	Reason string
}

// Error names the message, the field, its value and the reason.
func (e *InvalidMessageError) Error() string {
	return fmt.Sprintf("leat: invalid message: messages[%d].%s %s (value %s)", e.Index, e.Field, e.Reason, e.Value)
}

// Unwrap returns ErrInvalidMessage.
func (e *InvalidMessageError) Unwrap() error {
	return ErrInvalidMessage
}

// ConfigError returns an error that wraps ErrInvalidConfig and names field, its
// value and the reason. Adapters use it for their own configurations.
func ConfigError(field string, value any, reason string) error {
	return fmt.Errorf("%w: %s = %v: %s", ErrInvalidConfig, field, value, reason)
}
