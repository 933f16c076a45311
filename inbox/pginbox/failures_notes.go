package pginbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
)

// Keep implements driver.Keeper.
func (f *failures) Keep(ctx context.Context, id string, n driver.Note) error {
	if tx := pgclaim.Tx(ctx); tx != nil {
		number, err := f.claims.number(ctx, tx.Conn())
		if err == nil {
			_, err = tx.Exec(ctx, f.sql["note"], number, storedID(id), n.Fingerprint, n.Reply)
		}
		return pgclaim.Explain(err)
	}
	tx := pgclaim.SQLTx(ctx)
	if tx == nil {
		return outbox.ErrNotInTransaction
	}
	var number int16
	err := tx.QueryRowContext(ctx, f.claims.Lookup, f.claims.Name).Scan(&number)
	if err == nil {
		_, err = tx.ExecContext(ctx, f.sql["note"], number, storedID(id), n.Fingerprint, n.Reply)
	}
	return pgclaim.Explain(err)
}

// Kept implements driver.Keeper.
func (f *failures) Kept(ctx context.Context, id string) (n driver.Note, ok bool, err error) {
	err = f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		err := conn.QueryRow(ctx, f.sql["noted"], number, storedID(id)).Scan(&n.Fingerprint, &n.Reply)
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
