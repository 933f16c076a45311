package pginbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

var (
	// ErrNotDurable is returned for every message while synchronous_commit is off
	// in the session. A commit would return before it is durable: the message is
	// acknowledged, the server crashes, and the effects are gone for good. Any
	// other setting will do. It is looked at when a message is claimed: a handler
	// must not switch it off later in the transaction.
	ErrNotDurable = errors.New("leat: synchronous_commit is off, so that acknowledged effects could be lost")

	// ErrTooManyConsumers is returned when a new consumer would be the 32,768th.
	ErrTooManyConsumers = errors.New("leat: the inbox has 32767 consumers, which is the most it can have")

	// ErrUnknownConsumer is returned by what looks at a consumer, or changes what is
	// stored of it, where the inbox has never had a message for one of that name. The
	// text has the name. Nothing was changed, and the name is not registered.
	ErrUnknownConsumer = errors.New("leat: the inbox knows no such consumer")

	// ErrCommitInHandler is returned by Commit of the transaction that a handler
	// gets. The inbox commits it, once the handler's messages are enqueued.
	ErrCommitInHandler = errors.New("leat: the inbox commits this transaction, not the handler")

	// ErrEndedInHandler is returned when the handler has ended the transaction by a
	// statement of its own, such as ROLLBACK or COMMIT, or by a second transaction
	// on the same connection. What it did may have committed or not.
	ErrEndedInHandler = errors.New("leat: the handler has ended the inbox's transaction by a statement of its own")

	// errNoTx is what Handle and HandleSQL return with an Inbox of the other kind.
	errNoTx = errors.New("leat: the inbox's transactions are of another kind: New goes with Handle, NewSQL with HandleSQL")
)

// explain makes err say what to do about it where we know.
func explain(err error) error {
	switch {
	case pgerr.Is(err, pgerr.UndefinedTable, pgerr.InvalidSchemaName):
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	case pgerr.Is(err, pgerr.SequenceLimitExceeded):
		return fmt.Errorf("%w: %w", ErrTooManyConsumers, err)
	default:
		return err
	}
}

// explainCommit tells a commit that the server refused from one that got no
// answer. The server's word counts only if the session is still alive: a
// backend that is terminated while it commits reports that too.
func explainCommit(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxClosed), errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("%w: %w: %w", driver.ErrNotCommitted, inbox.ErrRollbackOnly, err)
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && refused(pgErr) {
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
	return err
}

// refused says whether err is the server's answer to the statement, rather than
// the end of the session, which may come at any point of it. Poolers report the
// end of theirs in class 08.
func refused(err *pgconn.PgError) bool {
	return err.SeverityUnlocalized == "ERROR" &&
		!strings.HasPrefix(err.Code, "08") && !strings.HasPrefix(err.Code, "57P")
}
