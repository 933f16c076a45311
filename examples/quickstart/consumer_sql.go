package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// consume is the consumer on MySQL, MariaDB or SQLite. Its router and its relay are those
// on PostgreSQL.
func (d sqlDatabase) consume(ctx context.Context, s settings) (err error) {
	db, err := d.open(s.ConsumerDB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ob, err := sqloutbox.New(db, d.dialect(), sqloutbox.Config{})
	if err != nil {
		return err
	}
	in, err := sqlinbox.New(db, d.dialect(), consumerName, sqlinbox.Config{})
	if err != nil {
		return err
	}
	source, err := ob.Source(sqloutbox.SourceConfig{})
	if err != nil {
		return err
	}
	counter, err := newSQLCounter(s)
	if err != nil {
		return err
	}
	bench := newConsumerBench(s)
	router, err := newRouter(s, in, ob, sabotagedGuard(s, ob), counter.count, bench)
	if err != nil {
		return err
	}
	return consumeAndRelay(ctx, s, router, source, bench)
}

// sqlCounter has the statements of the handler.
type sqlCounter struct {
	countEvent, counted, recordEffect string
}

func newSQLCounter(s settings) (c sqlCounter, err error) {
	for name, statement := range map[string]*string{
		"count_event": &c.countEvent, "counted": &c.counted, "record_effect": &c.recordEffect,
	} {
		if *statement, err = s.On.statement(name); err != nil {
			return c, err
		}
	}
	return c, nil
}

// count is the handler. Its writes, the event that it returns and the memory of
// having handled the message commit together, or not at all.
func (c sqlCounter) count(msg *message.Message) ([]*message.Message, error) {
	ctx := msg.Context()
	tx := sqlinbox.Tx(ctx)
	event := counted{EventID: msg.UUID, Repository: msg.Metadata.Get(outbox.HeaderKey)}
	if _, err := tx.ExecContext(ctx, c.countEvent, event.Repository); err != nil {
		return nil, fmt.Errorf("count event %s: %w", msg.UUID, err)
	}
	if err := tx.QueryRowContext(ctx, c.counted, event.Repository).Scan(&event.N); err != nil {
		return nil, fmt.Errorf("count event %s: %w", msg.UUID, err)
	}
	at := time.Now().UnixMicro()
	if _, err := tx.ExecContext(ctx, c.recordEffect, event.EventID, event.Repository, event.N, at); err != nil {
		return nil, fmt.Errorf("count event %s: %w", msg.UUID, err)
	}
	return event.tell()
}
