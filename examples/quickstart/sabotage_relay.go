package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
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
func relayByNumber(ctx context.Context, s settings) error {
	pool, err := pgxpool.New(ctx, s.ProducerDB)
	if err != nil {
		return err
	}
	defer pool.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := (report{Leading: true}).send(); err != nil {
		return err
	}
	var last int64
	for ctx.Err() == nil {
		n, err := relayPage(ctx, pool, client, s.Topic, &last)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if n == 0 {
			wait(ctx, numberPoll)
		}
	}
	return nil
}

// relayPage sends what has a number above last, and moves last.
func relayPage(ctx context.Context, pool *pgxpool.Pool, client *kgo.Client, topic string, last *int64) (int, error) {
	rows, err := pool.Query(ctx, `
		SELECT seq, id::text, key, payload FROM leat.outbox WHERE seq > $1 ORDER BY seq LIMIT $2`, *last, numberPage)
	if err != nil {
		return 0, err
	}
	var records []*kgo.Record
	var id, key string
	var payload []byte
	_, err = pgx.ForEachRow(rows, []any{last, &id, &key, &payload}, func() error {
		records = append(records, eventRecord(topic, key, id, append([]byte(nil), payload...)))
		return nil
	})
	if err != nil || len(records) == 0 {
		return 0, err
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return 0, err
	}
	_, err = pool.Exec(ctx, `UPDATE id_cursor SET last = $1`, *last)
	return len(records), err
}

// untilOvertaken keeps tx open until the relay by number has passed its event. A
// transaction that is slow for a moment makes that likely, this makes it certain.
func untilOvertaken(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := context.WithTimeout(ctx, overtakeTimeout)
	defer cancel()
	for {
		var overtaken bool
		err := tx.QueryRow(ctx, `
			SELECT last > (SELECT max(seq) FROM leat.outbox WHERE xid = pg_current_xact_id()) FROM id_cursor`).Scan(&overtaken)
		if err != nil || overtaken {
			return err
		}
		if !wait(ctx, numberPoll) {
			return ctx.Err()
		}
	}
}
