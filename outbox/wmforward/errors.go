package wmforward

import (
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

var (
	// errForwarderRunning is returned by Source.Acquire and Source.HandBack if the position could
	// not be taken within Config.TakeOverTimeout, because a forwarder is sending a batch, or a
	// message that it cannot deliver. Stop the forwarder. A relay tries again by itself.
	errForwarderRunning = errors.New("leat: a forwarder is at work and holds its position")

	// errTakenOver is returned by Source.Acquire if another group, or one whose tables are gone,
	// has replaced the forwarder and not handed back.
	errTakenOver = errors.New("leat: the forwarder's position was taken over already")

	// errNothingToHandBack is returned by Source.HandBack if the group has not replaced the
	// forwarder.
	errNothingToHandBack = errors.New("leat: the group has not taken the forwarder's place")

	// errRecordsHeld is returned by Source.HandBack while records are set aside,
	// which the forwarder would never send. Redrive or drop them.
	errRecordsHeld = errors.New("leat: records are held, which the forwarder would not send")

	errAsyncCommit = fmt.Errorf("%w: synchronous_commit is off, messages would be published before they are durable: switch it on, or allow async commits", outbox.ErrNotDurable)
	errNoTable     = errors.New("leat: the forwarder's table does not exist: check its schema and its name")
	errNoXid       = errors.New("leat: the forwarder's table has no transaction_id, such as PostgreSQLQueueSchema's, which keeps no order")
	errNoIndex     = errors.New(`leat: the forwarder's table has no index on (transaction_id, "offset"); CREATE INDEX CONCURRENTLY one`)
	errSameNumber  = errors.New("leat: two rows have the same offset, its sequence was set back")
)

// describe adds what a database error means in this context.
func describe(err error) error {
	switch {
	case pgerr.MissingObject(err):
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	case pgerr.Is(err, pgerr.LockNotAvailable):
		return fmt.Errorf("%w: %w", errForwarderRunning, err)
	default:
		return pgerr.Standby(err)
	}
}

// unusable marks the errors that trying again cannot fix and that could lose
// messages if they were ignored.
func unusable(err error) error {
	return pglog.Unusable(err,
		outbox.ErrNotMigrated, pgmigrate.ErrEncoding, errTakenOver,
		errAsyncCommit, errNoTable, errNoXid, errNoIndex, errSameNumber, pgwindow.ErrSequenceCache, outbox.ErrRowSecurity)
}
