package main

import (
	"context"
	"errors"

	"github.com/leat-go/leat/outbox/sqloutbox"
)

// relay is runRelay on MySQL, MariaDB or SQLite.
func (d sqlDatabase) relay(ctx context.Context, s settings) (err error) {
	db, err := d.open(s.ProducerDB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ob, err := sqloutbox.New(db, d.dialect(), sqloutbox.Config{})
	if err != nil {
		return err
	}
	source, err := ob.Source(sqloutbox.SourceConfig{})
	if err != nil {
		return err
	}
	return carry(ctx, source, s.Brokers, newRelayBench(ctx, s))
}
