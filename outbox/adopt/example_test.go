package adopt_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// A table of a service's own is recognised by its columns, looked at, and taken over. Its producer inserts as ever.
func Example() {
	const events = `CREATE TABLE outbox_events (id bigserial, aggregate_type text, aggregate_id text, event_type text,
		payload jsonb, created_at timestamptz DEFAULT now(), sent_at timestamptz);
		INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) VALUES ('orders', 'o-1', 'placed', '{"total": 7}')`
	err := testenv.OnDatabase(events, func(ctx context.Context, pool *pgxpool.Pool) error {
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		if err != nil {
			return err
		}
		if err := ob.Migrate(ctx); err != nil {
			return err
		}
		table, err := adopt.New(pool, adopt.Config{Table: "outbox_events"})
		if err != nil {
			return err
		}
		cfg, shape, err := table.Recognize(ctx)
		if err != nil {
			return err
		}
		fmt.Println("it is", shape)
		fmt.Println("pending:", cfg.Pending)
		if table, err = adopt.New(pool, cfg); err != nil {
			return err
		}
		plan, err := table.Plan(ctx)
		if err != nil {
			return err
		}
		first := plan.First[0]
		fmt.Println("would send", first.ID, first.Topic, first.Key, first.Type, string(first.Payload))
		if err := table.Adopt(ctx); err != nil {
			return err
		}
		_, err = pool.Exec(ctx, `INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) VALUES ('orders', 'o-1', 'paid', '{}')`)
		if err != nil {
			return err
		}
		var messages int
		err = pool.QueryRow(ctx, "SELECT count(*) FROM leat.outbox").Scan(&messages)
		fmt.Println("in the outbox:", messages)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// it is a topic of the aggregate's type (aggregate_type, sent_at)
	// pending: sent_at IS NULL
	// would send 1 orders o-1 placed {"total": 7}
	// in the outbox: 2
}
