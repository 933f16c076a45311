package pgunit

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Exec implements pgx.Tx.
func (u *Unit) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if err := u.before(ctx, sql); err != nil {
		return tag, err
	}
	// Without arguments, several statements may be in one text.
	if u.tx == nil && u.travels(args) && (len(args) > 0 || !strings.Contains(sql, ";")) {
		first, err := u.sendFirst(ctx, sql, args)
		if err != nil {
			return tag, err
		}
		if first != nil {
			tag, err = first.Exec()
			return tag, closeAfter(first, err)
		}
	}
	if err := u.begin(ctx); err != nil {
		return tag, err
	}
	return u.tx.Exec(ctx, sql, args...)
}

// travels reports whether a first statement with args can travel with BEGIN.
func (u *Unit) travels(args []any) bool {
	if u.plain || u.ended || u.failed != nil || u.joins == nil || u.conn.PgConn().IsBusy() || !u.joins() {
		return false
	}
	if len(args) == 0 {
		return true
	}
	switch args[0].(type) { // options that a batch does not take
	case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
		return false
	default:
		return true
	}
}

// sendFirst sends BEGIN with sql, and returns the results after BEGIN's. They are nil if the
// transaction has not begun.
func (u *Unit) sendFirst(ctx context.Context, sql string, args []any) (pgx.BatchResults, error) {
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{})
	b.Queue(sql, args...)
	results := u.conn.SendBatch(ctx, &b)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // its error is this one
		if u.untouched() {
			err = nil
		}
		return nil, err
	}
	u.tx = results.Tx()
	return results, nil
}

// untouched reports whether a batch has left the connection as it was. The statement could not be
// prepared or encoded then, and is run again after a separate BEGIN, which has the usual effects.
func (u *Unit) untouched() bool {
	return !u.conn.IsClosed() && u.conn.PgConn().TxStatus() == 'I'
}

// closeAfter closes results, and returns err, or else the error of Close, which may repeat it.
func closeAfter(results pgx.BatchResults, err error) error {
	if closing := results.Close(); err == nil {
		return closing
	}
	return err
}

// Query implements pgx.Tx.
func (u *Unit) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := u.before(ctx, sql); err != nil {
		return noRows{err: err}, err
	}
	if u.tx == nil && u.travels(args) {
		rows, err := u.queryFirst(ctx, sql, args)
		if rows != nil || err != nil {
			return rows, err
		}
	}
	if err := u.begin(ctx); err != nil {
		return noRows{err: err}, err
	}
	return u.tx.Query(ctx, sql, args...)
}

// queryFirst is Query for a statement that travels with BEGIN. It returns nil if the transaction
// has not begun.
func (u *Unit) queryFirst(ctx context.Context, sql string, args []any) (pgx.Rows, error) {
	first, err := u.sendFirst(ctx, sql, args)
	if err != nil {
		return noRows{err: err}, err
	}
	if first == nil {
		return nil, nil //nolint:nilnil // the transaction has not begun
	}
	rows, err := first.Query()
	if err != nil {
		_ = first.Close() // its error is this one
		return noRows{err: err}, err
	}
	return &firstRows{Rows: rows, first: first}, nil
}

// QueryRow implements pgx.Tx.
func (u *Unit) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := u.Query(ctx, sql, args...)
	return onlyRow{rows, err}
}

// SendBatch implements pgx.Tx.
func (u *Unit) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	texts := make([]string, 0, b.Len())
	for _, q := range b.QueuedQueries {
		texts = append(texts, q.SQL)
	}
	err := u.before(ctx, texts...)
	if err == nil {
		err = u.begin(ctx)
	}
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return u.tx.SendBatch(ctx, b)
}

// Begin implements pgx.Tx.
func (u *Unit) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := u.Settle(ctx); err != nil {
		return nil, err
	}
	return u.tx.Begin(ctx)
}

// CopyFrom implements pgx.Tx.
func (u *Unit) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if err := u.Settle(ctx); err != nil {
		return 0, err
	}
	return u.tx.CopyFrom(ctx, table, columns, rows)
}

// Prepare implements pgx.Tx.
func (u *Unit) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := u.Settle(ctx); err != nil {
		return nil, err
	}
	return u.tx.Prepare(ctx, name, sql)
}

// LargeObjects implements pgx.Tx.
func (u *Unit) LargeObjects() pgx.LargeObjects {
	if !u.ended {
		u.settleOrClose()
	}
	if u.tx == nil {
		return closedTx().LargeObjects()
	}
	return u.tx.LargeObjects()
}

// closedTx returns a transaction that has ended.
func closedTx() pgx.Tx {
	var never pgx.Batch
	never.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(&never, pgx.ErrTxClosed).Tx()
}

// Conn implements pgx.Tx.
func (u *Unit) Conn() *pgx.Conn {
	if !u.ended {
		u.settleOrClose()
	}
	return u.conn
}

// settleOrClose is settle for callers that cannot return its error: after an error, nothing may run
// on the connection outside of a transaction.
func (u *Unit) settleOrClose() {
	if u.plain {
		return
	}
	err := u.Settle(u.ctx)
	if err == nil {
		return
	}
	u.failed = fmt.Errorf("%w: %w", errTakenAway, err)
	if u.conn.PgConn().IsBusy() {
		return // nothing can run on it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), answerTimeout)
	defer cancel()
	_ = u.conn.Close(ctx)
}
