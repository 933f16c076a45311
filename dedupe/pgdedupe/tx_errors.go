package pgdedupe

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

var (
	// errCommitInHandler is returned by Commit of the transaction that a handler
	// gets. The middleware commits it, with the response.
	errCommitInHandler = errors.New("leat: the middleware commits this transaction, not the handler")

	// errEndedInHandler is the error of a request whose handler has ended the transaction by a
	// statement of its own. Its writes may have been committed or not.
	errEndedInHandler = errors.New("leat: the handler has ended the request's transaction by a statement of its own")

	// errConflict is the error of a request whose key got a response after the request had begun.
	errConflict = errors.New("leat: the key has got a response meanwhile")
)

// explain adds to err what to do about it, if that is known.
func explain(err error) error {
	if pgerr.Is(err, pgerr.UndefinedTable, pgerr.InvalidSchemaName) {
		return fmt.Errorf("%w: call Migrate: %w", outbox.ErrNotMigrated, err)
	}
	return err
}

// explainCommit distinguishes a commit that the server refused from one that got no answer. The
// server's answer counts only if the session is still alive.
func explainCommit(err error) error {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxClosed), errors.Is(err, pgx.ErrTxCommitRollback),
		answered && pgerr.Refused(answer.SeverityUnlocalized, answer.Code):
		return fmt.Errorf("%w: %w", dedupe.ErrNotCommitted, err)
	default:
		return err
	}
}
