package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// numberPage is how many events the relay by number reads at a time.
	numberPage = 500
	// numberPoll is how long it waits when there is nothing.
	numberPoll = 2 * time.Millisecond
	// overtakeTimeout bounds the wait for it to pass an open transaction.
	overtakeTimeout = 30 * time.Second
)

// relayByNumber breaks the rule that a number is no position. Numbers are drawn
// before the commit: what commits late has one that was passed already.
func relayByNumber(ctx context.Context, s settings) (err error) {
	on, err := s.On.database()
	if err != nil {
		return err
	}
	db, err := on.open(s.ProducerDB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := (report{Leading: true}).send(); err != nil {
		return err
	}
	relay := numberRelay{settings: s, db: db, client: client}
	for ctx.Err() == nil {
		n, err := relay.page(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if n == 0 {
			wait(ctx, numberPoll)
		}
	}
	return nil
}

type numberRelay struct {
	settings settings
	db       *sql.DB
	client   *kgo.Client
	last     int64
}

// page sends what has a number above last, and moves last.
func (r *numberRelay) page(ctx context.Context) (int, error) {
	records, err := r.read(ctx)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	if err := r.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return 0, err
	}
	move, err := r.settings.On.statement("id_cursor_move")
	if err != nil {
		return 0, err
	}
	_, err = r.db.ExecContext(ctx, move, r.last)
	return len(records), err
}

func (r *numberRelay) read(ctx context.Context) (records []*kgo.Record, err error) {
	query, err := r.settings.On.statement("id_cursor_page")
	if err != nil {
		return nil, err
	}
	rows, err := r.db.QueryContext(ctx, query, r.last, numberPage)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, key string
		var payload []byte
		if err := rows.Scan(&r.last, &id, &key, &payload); err != nil {
			return nil, err
		}
		records = append(records, eventRecord(r.settings.Topic, key, id, payload))
	}
	return records, rows.Err()
}

// cursor is where the relay by number is.
func (s settings) cursor(ctx context.Context, db *sql.DB) (last int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT last FROM id_cursor`).Scan(&last)
	return last, err
}

// aheadOfCursor counts what the relay by number has not passed.
func (s settings) aheadOfCursor(ctx context.Context, db *sql.DB) (left int64, err error) {
	query, err := s.On.statement("id_cursor_left")
	if err == nil {
		err = db.QueryRowContext(ctx, query).Scan(&left)
	}
	return left, err
}

// untilOvertaken keeps tx open until the relay by number has passed its event. A
// transaction that is slow for a moment makes that likely, this makes it certain.
func (b *ingestBench) untilOvertaken(ctx context.Context, tx any, id string) error {
	ctx, cancel := context.WithTimeout(ctx, overtakeTimeout)
	defer cancel()
	number, err := numberOf(ctx, tx, id)
	if err != nil {
		return err
	}
	for {
		last, err := b.settings.cursor(ctx, b.db)
		if err != nil || last > number {
			return err
		}
		if !wait(ctx, numberPoll) {
			return ctx.Err()
		}
	}
}
