package pginbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// Keep implements driver.Keeper.
func (f *failures) Keep(ctx context.Context, id string, n driver.Note) error {
	if tx, ok := txctx.As[pgx.Tx](ctx); ok {
		number, err := f.keys.number(ctx, tx.Conn())
		if err == nil {
			_, err = tx.Exec(ctx, f.sql["note"], number, f.keys.id(id), n.Fingerprint, n.Reply)
		}
		return explain(err)
	}
	tx, ok := txctx.As[*sql.Tx](ctx)
	if !ok {
		return outbox.ErrNotInTransaction
	}
	var number int16
	err := tx.QueryRowContext(ctx, f.keys.lookup, f.keys.consumer).Scan(&number)
	if err == nil {
		_, err = tx.ExecContext(ctx, f.sql["note"], number, f.keys.id(id), n.Fingerprint, n.Reply)
	}
	return explain(err)
}

// Kept implements driver.Keeper.
func (f *failures) Kept(ctx context.Context, id string) (n driver.Note, ok bool, err error) {
	err = f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		err := conn.QueryRow(ctx, f.sql["noted"], number, f.keys.id(id)).Scan(&n.Fingerprint, &n.Reply)
		ok = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return n, ok, err
}

// Conflict implements driver.Conflicter.
func (f *failures) Conflict(err error) bool {
	return pgerr.Is(err, pgerr.SerializationFailure, pgerr.DeadlockDetected)
}
