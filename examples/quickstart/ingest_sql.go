package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// sqlIngester is ingester on MySQL, MariaDB or SQLite.
type sqlIngester struct {
	topic   string
	outbox  *sqloutbox.Outbox
	enqueue enqueueFunc[*sql.Tx]
	bench   *ingestBench

	nextVersion, recordDelivery string
}

func (d sqlDatabase) ingest(ctx context.Context, s settings) (err error) {
	db, err := d.open(s.ProducerDB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ob, err := sqloutbox.New(db, d.dialect(), sqloutbox.Config{})
	if err != nil {
		return err
	}
	i := &sqlIngester{topic: s.Topic, outbox: ob}
	if i.nextVersion, err = s.On.statement("next_version"); err != nil {
		return err
	}
	if i.recordDelivery, err = s.On.statement("record_delivery"); err != nil {
		return err
	}
	if i.bench, err = newIngestBench(s); err != nil {
		return err
	}
	defer i.bench.close()
	enqueue, closeEnqueue, err := sabotagedEnqueue(s, ob.Enqueue)
	if err != nil {
		return err
	}
	defer closeEnqueue()
	i.enqueue = enqueue
	return i.bench.deliver(ctx, i.receive)
}

// receive records a webhook and enqueues its event, in one transaction. The relays are
// other processes, and look every few milliseconds.
func (i *sqlIngester) receive(ctx context.Context, w webhook) error {
	err := i.outbox.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := i.enqueue(ctx, tx, outbox.Message{
			ID: w.ID, Topic: i.topic, Key: w.Repository, Type: w.Type, Payload: w.Payload,
		})
		if err != nil {
			return fmt.Errorf("enqueue webhook %s: %w", w.ID, err)
		}
		if _, err := tx.ExecContext(ctx, i.nextVersion, w.Repository); err != nil {
			return fmt.Errorf("record webhook %s: %w", w.ID, err)
		}
		if _, err := tx.ExecContext(ctx, i.recordDelivery, w.ID, w.Type, w.Repository); err != nil {
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
