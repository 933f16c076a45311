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

// Errors of a delivery, for whoever reads them: nothing is decided by them.
//
// ErrOtherInbox is of a consumer that is used with an inbox of ids and with one of positions:
// neither knows what the other has processed. Process returns it on connections that it has
// not used before.
//
// ErrInsertTrigger is of every message if the table of ids, or a range of it, has a row trigger
// before INSERT or a rule for INSERT: an id whose insert one of them suppresses would be taken
// for processed, or its message run without being remembered. Triggers after INSERT are fine. It
// is looked at once a connection.
//
// ErrNotRemembered is returned by HandleQueued if the server has run the claim and inserted
// nothing, as with a trigger that was created while the connection was open. Unless a statement
// had a callback, the effects of this one message have committed, and it will run again; those
// that follow are refused before they run.
var (
	ErrNotDurable       = fmt.Errorf("%w: synchronous_commit is off, so that acknowledged effects could be lost", outbox.ErrNotDurable)
	ErrTooManyConsumers = errors.New("leat: the inbox has 32767 consumers, which is the most it can have")
	ErrCommitInHandler  = errors.New("leat: the inbox commits this transaction, not the handler")
	ErrOpenRows         = errors.New("leat: the handler has left rows of a query open: close them, or read them with pgx.CollectRows")
	ErrOtherInbox       = errors.New("leat: the consumer is used with an inbox of ids and with one of positions")
	ErrInsertTrigger    = errors.New("leat: a trigger before INSERT, or a rule, may keep ids from being remembered; drop it, or run it after INSERT")
	ErrNotRemembered    = errors.New("leat: the server did not insert the message's id, though it reported no error; look for a trigger before INSERT")
)

// ErrNoTx is what queues statements returns with an inbox of NewSQL.
var ErrNoTx = errors.New("leat: to queue statements takes an inbox of New, whose transactions are pgx's")

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
