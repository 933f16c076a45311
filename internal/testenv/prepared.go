package testenv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// rollbackPrepared ends the prepared transactions of a database, which no force
// cuts when it is dropped. It can only be done from inside.
func rollbackPrepared(ctx context.Context, maintenance *pgx.Conn, address, database string) (err error) {
	var held bool
	err = maintenance.QueryRow(ctx,
		`SELECT EXISTS (SELECT FROM pg_prepared_xacts WHERE database = $1)`, database).Scan(&held)
	if err != nil {
		return fmt.Errorf("testenv: prepared transactions: %w", err)
	}
	if !held {
		return nil
	}
	url, err := withDatabase(address, database)
	if err != nil {
		return err
	}
	conn, err := connectPostgres(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()

	rows, err := conn.Query(ctx, `SELECT gid FROM pg_prepared_xacts WHERE database = current_database()`)
	if err != nil {
		return fmt.Errorf("testenv: prepared transactions: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("testenv: prepared transactions: %w", err)
	}
	for _, id := range ids {
		// The identifier is a literal in the grammar, not an expression.
		if _, err := conn.Exec(ctx, `ROLLBACK PREPARED `+quoteLiteral(id)); err != nil {
			return fmt.Errorf("testenv: prepared transaction %q: %w", id, err)
		}
	}

	return nil
}

func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
