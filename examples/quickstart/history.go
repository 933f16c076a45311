package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// history is the outcome of a run, read with plain SQL and a plain Kafka client, and the notes of
// the test bench. leat takes no part in reading or judging it.
type history struct {
	// committed are the deliveries in the ingest service's table, by id.
	committed map[string]delivery
	entries   // how the ingest service's transactions ended
	// topic is the log of Kafka, partition by partition, from offset 0.
	topic []record
	// effects are the effects of the consumer, by key and counter.
	effects []effect
	// counters is the sum of the consumer's counters.
	counters int
	// acked is how many deliveries the consumer has acknowledged.
	acked int
	// counted is the log of the consumer's own topic.
	counted []record
}

// delivery is a committed transaction of the ingest service. Version numbers those
// of a key in the order of their commits.
type delivery struct {
	key     string
	version int64
}

// record is a record of a topic. Cause and n are only set in an event of the consumer.
type record struct {
	id, key   string
	partition int32
	cause     string
	n         int64
}

// effect is a row that the consumer's handler wrote.
type effect struct {
	id, key string
	n       int64
	at      time.Time
}

func readHistory(ctx context.Context, st *stage, r *run) (h history, err error) {
	h.entries, h.acked = r.entries, int(r.acked.Load())
	if err := h.readProducer(ctx, st.producer.db); err != nil {
		return h, fmt.Errorf("read the ingest service's database: %w", err)
	}
	if err := h.readConsumer(ctx, st.stats.db); err != nil {
		return h, fmt.Errorf("read the consumer's database: %w", err)
	}
	if h.topic, err = readTopic(ctx, st.settings.Brokers, st.settings.Topic, nil); err != nil {
		return h, err
	}
	h.counted, err = readTopic(ctx, st.settings.Brokers, st.counted, func(r *record, value []byte) error {
		var c struct {
			EventID string `json:"event_id"`
			N       int64  `json:"n"`
		}
		err := json.Unmarshal(value, &c)
		r.cause, r.n = c.EventID, c.N
		return err
	})
	return h, err
}

func (h *history) readProducer(ctx context.Context, db *sql.DB) error {
	h.committed = map[string]delivery{}
	return eachRow(ctx, db, `SELECT id, repository, version FROM deliveries`, func(rows *sql.Rows) error {
		var id string
		var d delivery
		err := rows.Scan(&id, &d.key, &d.version)
		h.committed[id] = d
		return err
	})
}

func (h *history) readConsumer(ctx context.Context, db *sql.DB) error {
	query := `SELECT event_id, repository, n, at FROM effects ORDER BY repository, n`
	err := eachRow(ctx, db, query, func(rows *sql.Rows) error {
		var e effect
		var micros int64
		err := rows.Scan(&e.id, &e.key, &e.n, &micros)
		e.at = time.UnixMicro(micros)
		h.effects = append(h.effects, e)
		return err
	})
	if err != nil {
		return err
	}
	return db.QueryRowContext(ctx, `SELECT CAST(coalesce(sum(events), 0) AS DECIMAL(20)) FROM counters`).Scan(&h.counters)
}

// eachRow calls fn for each row of a query.
func eachRow(ctx context.Context, db *sql.DB, query string, fn func(rows *sql.Rows) error) (err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readTopic reads topic from its first record to its last. Decode, unless nil, adds the contents of
// the value.
func readTopic(
	ctx context.Context, brokers []string, topic string, decode func(*record, []byte) error,
) (records []record, err error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ends, err := endOffsets(ctx, client, topic)
	if err != nil {
		return nil, err
	}
	left := int64(0)
	for _, end := range ends {
		left += end
	}
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			left--
			rec := record{id: headerOf(r, headerID), key: string(r.Key), partition: r.Partition}
			if decode != nil && err == nil {
				err = decode(&rec, r.Value)
			}
			records = append(records, rec)
		})
		if err != nil {
			return nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
	}
	return records, nil
}
