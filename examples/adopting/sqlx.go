package adopting

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// PlaceWithSQLX places an order: *sqlx.Tx embeds the *sql.Tx.
func PlaceWithSQLX(ctx context.Context, db *sqlx.DB, ob *pgoutbox.Outbox, id string) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES ($1)`, id); err != nil {
		return err
	}
	if err := ob.EnqueueSQL(ctx, tx.Tx, placed(id)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	ob.Wake()
	return nil
}
