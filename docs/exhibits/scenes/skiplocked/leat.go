package skiplocked

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
	lob "github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const topic = "orders"

// leatOutbox makes an outbox, and the function that writes a message into it.
func leatOutbox(ctx context.Context, s *stage.Stage, name string) (
	*pgoutbox.Outbox, func(ctx context.Context, tx pgx.Tx, e gallery.Event) error, error,
) {
	ob, err := s.Outbox(ctx, name)
	return ob, func(ctx context.Context, tx pgx.Tx, e gallery.Event) error {
		return ob.Enqueue(ctx, tx, lob.Message{ID: e.ID, Topic: topic, Key: e.Key})
	}, err
}
