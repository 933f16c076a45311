package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

//go:embed sql/postgres/record_delivery.sql
var recordDelivery string

// ingester is the service that receives webhooks. It never speaks to Kafka: what
// it has to tell, it writes into the outbox, in the transaction of what it tells.
type ingester struct {
	topic   string
	outbox  *pgoutbox.Outbox
	enqueue enqueueFunc[pgx.Tx]
	bench   *ingestBench
}

func ingest(ctx context.Context, s settings) error {
	pool, err := pgxpool.New(ctx, s.ProducerDB)
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	bench, err := newIngestBench(s)
	if err != nil {
		return err
	}
	defer bench.close()
	enqueue, closeEnqueue, err := sabotagedEnqueue(s, ob.Enqueue)
	if err != nil {
		return err
	}
	defer closeEnqueue()

	// The relays are other processes, and are to notice at once.
	ctx, cancel := context.WithCancel(ctx)
	notified := make(chan error, 1)
	go func() { notified <- ob.RunNotifier(ctx) }()

	i := &ingester{topic: s.Topic, outbox: ob, enqueue: enqueue, bench: bench}
	err = bench.deliver(ctx, i.receive)
	cancel()
	return errors.Join(err, <-notified)
}

// receive records a webhook and enqueues its event: two writes, one transaction,
// so that there are both or neither.
//
// The event is enqueued first, before any row is locked, and so Enqueue's own
// lock is what keeps the events of a repository in the order of the commits.
func (i *ingester) receive(ctx context.Context, w webhook) error {
	err := i.outbox.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		err := i.enqueue(ctx, tx, outbox.Message{
			ID: w.ID, Topic: i.topic, Key: w.Repository, Type: w.Type, Payload: w.Payload,
		})
		if err != nil {
			return fmt.Errorf("enqueue webhook %s: %w", w.ID, err)
		}
		if _, err := tx.Exec(ctx, recordDelivery, w.ID, w.Repository, w.Type); err != nil {
			return fmt.Errorf("record webhook %s: %w", w.ID, err)
		}
		return i.bench.beforeCommit(ctx, tx, w) // some take their time here, some fail
	})
	if errors.Is(err, errRollback) {
		return i.bench.rolledBack(w)
	}
	if err != nil {
		return err
	}
	return i.bench.committed(w)
}
