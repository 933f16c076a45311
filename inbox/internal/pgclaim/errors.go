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

// Errors of a delivery, for their readers only: the code decides nothing by them.
//
// ErrOtherInbox is returned for a consumer that is used with an inbox of ids and with one of
// positions: neither knows which messages the other has processed. Process returns it on
// connections that it has not used before.
//
// ErrInsertTrigger is returned for every message if the table of ids, or a range of it, has a row
// trigger before INSERT or a rule for INSERT. If one of them suppressed an insert, the message
// would count as processed, or would run without being remembered. Triggers after INSERT are
// fine. This is checked once per connection.
//
// ErrNotRemembered is returned by HandleQueued if the server has run the claim and inserted
// nothing, as with a trigger that was created while the connection was open. Unless a statement
// had a callback, the effects of this one message were committed, and it will run again; later
// messages are refused before they run.
var (
	ErrNotDurable       = fmt.Errorf("%w: synchronous_commit is off, so that acknowledged effects could be lost", outbox.ErrNotDurable)
	ErrTooManyConsumers = errors.New("leat: the inbox has 32767 consumers, which is the most it can have")
	ErrCommitInHandler  = errors.New("leat: the inbox commits this transaction, not the handler")
	ErrOpenRows         = errors.New("leat: the handler has left rows of a query open: close them, or read them with pgx.CollectRows")
	ErrOtherInbox       = errors.New("leat: the consumer is used with an inbox of ids and with one of positions")
	ErrInsertTrigger    = errors.New("leat: a trigger before INSERT, or a rule, may keep ids from being remembered; drop it, or run it after INSERT")
	ErrNotRemembered    = errors.New("leat: the server did not insert the message's id, though it reported no error; look for a trigger before INSERT")
)

// ErrNoTx is returned by functions that queue statements, with an inbox of NewSQL.
var ErrNoTx = errors.New("leat: to queue statements takes an inbox of New, whose transactions are pgx's")

// Explain adds to err what to do about it, if that is known.
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

// ExplainCommit distinguishes a commit that the server refused from one that got no answer. The
// server's answer counts only if the session is still alive: a backend that is terminated while
// it commits also reports an error.
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
