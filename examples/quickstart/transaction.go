package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// execIn runs a statement in a transaction of the services, whichever kind that is, and
// returns how many rows it has changed.
func execIn(ctx context.Context, tx any, statement string, args ...any) (int64, error) {
	switch tx := tx.(type) {
	case pgx.Tx:
		tag, err := tx.Exec(ctx, statement, args...)
		return tag.RowsAffected(), err
	case *sql.Tx:
		result, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	default:
		return 0, fmt.Errorf("%T is no transaction", tx)
	}
}

// numberOf returns the number of an event that was enqueued in tx.
func numberOf(ctx context.Context, tx any, id string) (number int64, err error) {
	switch tx := tx.(type) {
	case pgx.Tx:
		err = tx.QueryRow(ctx, `SELECT seq FROM leat.outbox WHERE id = $1`, id).Scan(&number)
	case *sql.Tx:
		err = tx.QueryRowContext(ctx, `SELECT seq FROM leat_outbox WHERE id = ?`, id).Scan(&number)
	default:
		err = fmt.Errorf("%T is no transaction", tx)
	}
	return number, err
}
