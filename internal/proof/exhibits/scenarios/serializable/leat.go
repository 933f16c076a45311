package serializable

import (
	"context"
	"database/sql"
	"errors"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// leat is an outbox in its own database.
type leat struct {
	db *sql.DB
	ob *sqloutbox.Outbox
}

func newLeat(ctx context.Context, bed *testbed.Testbed) (x leat, err error) {
	if x.db, err = bed.MariaDB(ctx, "exhibit"); err != nil {
		return x, err
	}
	if x.ob, err = sqloutbox.New(x.db, outbox.MariaDB, sqloutbox.Config{}); err != nil {
		return x, err
	}
	return x, x.ob.Migrate(ctx)
}

func (x leat) commit(ctx context.Context, id string) error {
	return x.ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return x.enqueue(ctx, tx, id) })
}

func (x leat) enqueue(ctx context.Context, tx *sql.Tx, id string) error {
	return x.ob.Enqueue(ctx, tx, outbox.Message{ID: id, Topic: topic, Payload: []byte(`{}`)})
}

// drain relays the committed messages to sink.
func (x leat) drain(ctx context.Context, sink driver.Sink) error {
	source, err := x.ob.Source(sqloutbox.SourceConfig{})
	if err != nil {
		return err
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return err
	}
	_, err = r.RunOnce(ctx)
	return err
}

func openOnLeat(ctx context.Context, bed *testbed.Testbed) (o exhibit.Outcome, err error) {
	x, err := newLeat(ctx, bed)
	if err != nil {
		return o, err
	}
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return o, err
	}
	if err := x.enqueue(ctx, tx, "rolled back"); err != nil {
		return o, errors.Join(err, tx.Rollback())
	}
	committed, err := commitAll(func(id string) error { return x.commit(ctx, id) })
	bed.Say("  a producer's transaction is open, %d messages of others are committed", len(committed))
	var log testbed.Log
	if err == nil {
		err = x.drain(ctx, log.Sink())
	}
	late := len(committed) - len(log.IDs())
	bed.Say("  the relay has looked once, %d of %d have arrived; the transaction is rolled back", len(log.IDs()), len(committed))
	if err = errors.Join(err, tx.Rollback()); err == nil {
		err = x.drain(ctx, log.Sink())
	}
	o = exhibit.Judge(committed, log.IDs())
	o.Late = late
	return o, err
}

// handledOnLeat commits a message while the relay's sink is sending another one.
func handledOnLeat(ctx context.Context, bed *testbed.Testbed) (o exhibit.Outcome, err error) {
	x, err := newLeat(ctx, bed)
	if err != nil {
		return o, err
	}
	if err := x.commit(ctx, "m1"); err != nil {
		return o, err
	}
	var log testbed.Log
	sink, err := relay.Func(func(ctx context.Context, r outbox.Record) error {
		if log.Add(r.ID) > 1 {
			return nil
		}
		bed.Say("  a message is handled; a producer commits another one")
		return x.commit(ctx, "m2")
	}, relay.FuncConfig{})
	if err != nil {
		return o, err
	}
	for len(log.IDs()) < 2 && err == nil {
		err = x.drain(ctx, sink)
	}
	return exhibit.Judge([]exhibit.Event{{ID: "m1"}, {ID: "m2"}}, log.IDs()), err
}
