package wmoutbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// bench is an outbox in a database of its own.
type bench struct {
	db *testenv.Database
	ob *pgoutbox.Outbox
}

func newBench(t *testing.T) *bench {
	t.Helper()
	db := testenv.Postgres(t)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	return &bench{db: db, ob: ob}
}

// relayed returns what a relay finds committed, all of it and in order.
func (b *bench) relayed(ctx context.Context) ([]outbox.Record, error) {
	source, err := b.ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return nil, err
	}
	sink := &collector{}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		return nil, err
	}
	_, err = r.RunOnce(ctx)
	return sink.records, err
}

// collector is a sink that keeps what it is sent.
type collector struct{ records []outbox.Record }

func (c *collector) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	c.records = append(c.records, slices.Clone(records)...)
	return make([]outbox.Result, len(records))
}

// variant is one way to publish in a transaction.
type variant struct {
	name string
	// publish publishes msgs in a transaction that then commits or rolls back.
	publish func(ctx context.Context, b *bench, commit bool, topic string, msgs ...*message.Message) error
}

func variants() []variant {
	return []variant{
		{"publisher on pgx", publisherOnPgx},
		{"publisher on database_sql", publisherOnSQL},
	}
}

func publisherOnPgx(ctx context.Context, b *bench, commit bool, topic string, msgs ...*message.Message) error {
	return onPgx(ctx, b, commit, func(ctx context.Context) error { return publish(ctx, b, topic, msgs) })
}

func publisherOnSQL(ctx context.Context, b *bench, commit bool, topic string, msgs ...*message.Message) error {
	return onSQL(ctx, b, commit, func(ctx context.Context) error { return publish(ctx, b, topic, msgs) })
}

// publish uses our publisher, with the transaction in the messages' context.
func publish(ctx context.Context, b *bench, topic string, msgs []*message.Message) error {
	var pub message.Publisher
	pub, err := wmoutbox.NewPublisher(b.ob, wmoutbox.Config{})
	if err != nil {
		return err
	}
	for _, msg := range msgs {
		msg.SetContext(ctx)
	}
	return pub.Publish(topic, msgs...)
}

// end commits or rolls back a transaction in which err has happened.
func end(err error, commit bool, doCommit, rollback func() error) error {
	if err == nil && commit {
		return doCommit()
	}
	if failed := rollback(); err == nil && failed != nil {
		return fmt.Errorf("roll back: %w", failed)
	}
	return err
}

func onPgx(ctx context.Context, b *bench, commit bool, fn func(context.Context) error) error {
	tx, err := b.db.Pool.Begin(ctx)
	if err != nil {
		return err
	}
	err = fn(pgoutbox.ContextWithTx(ctx, tx))
	return end(err, commit,
		func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) })
}

func onSQL(ctx context.Context, b *bench, commit bool, fn func(context.Context) error) error {
	db := openSQL(b.db.Pool)
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = fn(pgoutbox.ContextWithSQLTx(ctx, tx))
	return end(err, commit, tx.Commit, tx.Rollback)
}

// beyond publishes in a transaction of its own, beside the one of the business: the forbidden
// variant.
func beyond(ctx context.Context, b *bench, commit bool, topic string, msgs ...*message.Message) error {
	return onPgx(ctx, b, commit, func(ctx context.Context) error { return publisherOnPgx(ctx, b, true, topic, msgs...) })
}
