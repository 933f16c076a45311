package adopting

import (
	"context"
	"database/sql"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// PlaceWithEnt places an order. ent keeps its *sql.Tx to itself, so the transaction is
// begun outside and ent's client made on it: ent.NewClient(ent.Driver(driver)).
func PlaceWithEnt(ctx context.Context, db *sql.DB, ob *pgoutbox.Outbox, id string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	driver := entsql.NewDriver(dialect.Postgres, entsql.Conn{ExecQuerier: tx})
	// With generated code: client.Order.Create().SetID(id).Exec(ctx).
	query, args := entsql.Dialect(dialect.Postgres).Insert("orders").Columns("id").Values(id).Query()
	if err := driver.Exec(ctx, query, args, nil); err != nil {
		return err
	}
	if err := ob.EnqueueSQL(ctx, tx, placed(id)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	ob.Wake()
	return nil
}
