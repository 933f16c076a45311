package adopting

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// bunOrder is a model of bun.
type bunOrder struct {
	bun.BaseModel `bun:"table:orders"`

	ID string `bun:"id,pk"`
}

// PlaceWithBun places an order: bun.Tx embeds the *sql.Tx.
func PlaceWithBun(ctx context.Context, db *bun.DB, ob *pgoutbox.Outbox, id string) error {
	err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&bunOrder{ID: id}).Exec(ctx); err != nil {
			return err
		}
		return ob.EnqueueSQL(ctx, tx.Tx, placed(id))
	})
	if err != nil {
		return err
	}
	ob.Wake()
	return nil
}
