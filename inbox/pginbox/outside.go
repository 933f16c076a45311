package pginbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var errOutside = errors.New("leat: there is no inbox of pgx around this handler: " +
	"add middleware.NewInbox to the router, or wrap the handler in the inbox's Handle")

// outside is the transaction of a context that carries none. Whoever forgot the inbox reads why in
// an error, rather than in a panic.
type outside struct {
	pgx.Tx // nil: LargeObjects and Conn cannot say why
}

func (outside) Begin(context.Context) (pgx.Tx, error) { return nil, errOutside }
func (outside) Commit(context.Context) error          { return errOutside }
func (outside) Rollback(context.Context) error        { return errOutside }

func (outside) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, errOutside
}

func (outside) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return outsideRows{}, errOutside
}
func (outside) QueryRow(context.Context, string, ...any) pgx.Row { return outsideRows{} }

func (outside) CopyFrom(context.Context, pgx.Identifier, []string, pgx.CopyFromSource) (int64, error) {
	return 0, errOutside
}

func (outside) Prepare(context.Context, string, string) (*pgconn.StatementDescription, error) {
	return nil, errOutside
}
func (outside) SendBatch(context.Context, *pgx.Batch) pgx.BatchResults { return outsideBatch{} }

// outsideRows are rows, or a row, that could not be read.
type outsideRows struct {
	pgx.Rows
}

func (outsideRows) Close()            {}
func (outsideRows) Err() error        { return errOutside }
func (outsideRows) Next() bool        { return false }
func (outsideRows) Scan(...any) error { return errOutside }

// outsideBatch is the result of a batch that was not sent.
type outsideBatch struct {
	pgx.BatchResults
}

func (outsideBatch) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, errOutside }
func (outsideBatch) Query() (pgx.Rows, error)         { return outsideRows{}, errOutside }
func (outsideBatch) QueryRow() pgx.Row                { return outsideRows{} }
func (outsideBatch) Close() error                     { return errOutside }
