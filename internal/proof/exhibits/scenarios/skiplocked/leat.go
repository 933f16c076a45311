package skiplocked

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	lob "github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const topic = "orders"

// leatOutbox creates an outbox, and returns it with a function that writes a message into it.
func leatOutbox(ctx context.Context, bed *testbed.Testbed, name string) (
	*pgoutbox.Outbox, func(ctx context.Context, tx pgx.Tx, e exhibit.Event) error, error,
) {
	ob, err := bed.Outbox(ctx, name)
	return ob, func(ctx context.Context, tx pgx.Tx, e exhibit.Event) error {
		return ob.Enqueue(ctx, tx, lob.Message{ID: e.ID, Topic: topic, Key: e.Key})
	}, err
}
