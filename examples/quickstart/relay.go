package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// runRelay is the service that carries committed events from the outbox to
// Kafka. It may run in any number of replicas: one leads, the others stand by.
func runRelay(ctx context.Context, s settings) error {
	pool, err := pgxpool.New(ctx, s.ProducerDB)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	return carry(ctx, source, s.Brokers, newRelayBench(ctx, s))
}

// carry relays source to Kafka until ctx ends, then waits for what is under way.
func carry(ctx context.Context, source driver.Source, brokers []string, hooks ...outbox.Hook) (err error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	sink, err := kafkasink.New(brokers, kafkasink.Config{Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	r, err := relay.New(source, sink, relay.Config{
		// Webhooks are large, some ten kilobytes each, and a takeover should not take
		// long; the defaults are for smaller events and calmer times.
		PageSize:       500,
		Lease:          3 * time.Second,
		PublishTimeout: 2 * time.Second,
		LeaseMargin:    300 * time.Millisecond,
		Logger:         logger,
		Hooks:          hooks,
	})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}
