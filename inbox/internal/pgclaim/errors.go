package pgclaim

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

// Errors that the packages of the inboxes show under the same names.
var (
	ErrNotDurable       = fmt.Errorf("%w: synchronous_commit is off, so that acknowledged effects could be lost", outbox.ErrNotDurable)
	ErrTooManyConsumers = errors.New("leat: the inbox has 32767 consumers, which is the most it can have")
	ErrCommitInHandler  = errors.New("leat: the inbox commits this transaction, not the handler")
	ErrEndedInHandler   = errors.New("leat: the handler has ended the inbox's transaction by a statement of its own")
	ErrOpenRows         = errors.New("leat: the handler has left rows of a query open: close them, or read them with pgx.CollectRows")
	ErrOtherInbox       = errors.New("leat: the consumer is used with an inbox of ids and with one of positions")
	ErrInsertTrigger    = errors.New("leat: a trigger before INSERT, or a rule, may keep ids from being remembered; drop it, or run it after INSERT")
	ErrNotRemembered    = errors.New("leat: the server did not insert the message's id, though it reported no error; look for a trigger before INSERT")
)

// ErrNoTx is what Handle and HandleSQL return with an inbox of the other kind.
var ErrNoTx = errors.New("leat: the inbox's transactions are of another kind: New goes with Handle, NewSQL with HandleSQL")

// Explain makes err say what to do about it, if we know.
func Explain(err error) error {
	switch {
	case pgerr.Is(err, pgerr.UndefinedTable, pgerr.InvalidSchemaName) && !errors.Is(err, outbox.ErrNotMigrated):
		return fmt.Errorf("%w: %w", outbox.ErrNotMigrated, err)
	case pgerr.Is(err, pgerr.SequenceLimitExceeded):
		return fmt.Errorf("%w: %w", ErrTooManyConsumers, err)
	default:
		return pgerr.Standby(err)
	}
}

// ExplainCommit tells a commit that the server refused from one that got no
// answer. The server's word counts only if the session is still alive: a
// backend that is terminated while it commits reports that too.
func ExplainCommit(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return fmt.Errorf("%w: %w: the handler ignored the error of a statement: %w", driver.ErrNotCommitted, driver.ErrRollbackOnly, err)
	case errors.Is(err, pgx.ErrTxClosed):
		return fmt.Errorf("%w: %w: %w", driver.ErrNotCommitted, driver.ErrRollbackOnly, err)
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok && pgerr.Refused(answer.SeverityUnlocalized, answer.Code) {
		return fmt.Errorf("%w: %w", driver.ErrNotCommitted, err)
	}
	return err
}
