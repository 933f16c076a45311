package rival

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// SkipLockedConfig is the variable part of a sweep over the relay of the articles.
type SkipLockedConfig struct {
	// Batch is the number of rows in a transaction.
	Batch int
	// Workers is the number of transactions at the same time.
	Workers int
}

// BestSkipLocked is the configuration that BenchmarkSkipLockedSweep found fastest on two cores.
// Articles use batches of a hundred.
func BestSkipLocked() SkipLockedConfig {
	return SkipLockedConfig{Batch: 5000, Workers: 2}
}

// SkipLocked is the relay of many articles. It locks the oldest rows that are not
// published with FOR UPDATE SKIP LOCKED, sends them, waits for the acknowledgements of
// all, marks the rows, and commits.
//
// It promises less than leat does. Two workers have different rows of the same key, and send them
// in any order. Even with one worker, rows are in the order of their ids, not of the commits.
type SkipLocked struct {
	pool    *pgxpool.Pool
	brokers []string
	cfg     SkipLockedConfig
}

// NewSkipLocked returns a SkipLocked that is not connected yet.
func NewSkipLocked(pool *pgxpool.Pool, brokers []string, cfg SkipLockedConfig) *SkipLocked {
	return &SkipLocked{pool: pool, brokers: brokers, cfg: cfg}
}

const skipLockedSchema = `
	CREATE TABLE IF NOT EXISTS skiplocked (
		id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		message_id   uuid NOT NULL,
		topic        text NOT NULL,
		key          text NOT NULL,
		payload      bytea NOT NULL,
		created_at   timestamptz NOT NULL DEFAULT now(),
		published_at timestamptz
	);
	CREATE INDEX IF NOT EXISTS skiplocked_unpublished ON skiplocked (id) WHERE published_at IS NULL;
	TRUNCATE skiplocked`

// Fill creates the table, empties it, and inserts messages, a thousand a transaction.
func (s *SkipLocked) Fill(ctx context.Context, messages []outbox.Message) error {
	if _, err := s.pool.Exec(ctx, skipLockedSchema); err != nil {
		return fmt.Errorf("rival: schema of skiplocked: %w", err)
	}
	for at := 0; at < len(messages); at += fillChunk {
		if err := s.insert(ctx, messages[at:min(at+fillChunk, len(messages))]); err != nil {
			return fmt.Errorf("rival: fill skiplocked: %w", err)
		}
	}
	if _, err := s.pool.Exec(ctx, "VACUUM ANALYZE skiplocked"); err != nil {
		return fmt.Errorf("rival: vacuum skiplocked: %w", err)
	}
	return nil
}

func (s *SkipLocked) insert(ctx context.Context, messages []outbox.Message) error {
	n := len(messages)
	ids, topics, keys, payloads := make([]string, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i := range messages {
		ids[i], topics[i], keys[i], payloads[i] = messages[i].ID, messages[i].Topic, messages[i].Key, messages[i].Payload
	}
	_, err := s.pool.Exec(ctx, `INSERT INTO skiplocked (message_id, topic, key, payload)
		SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[])`, ids, topics, keys, payloads)
	return err
}

// Drain publishes all count rows. It returns how long that took, from connecting to Kafka to the last
// commit.
func (s *SkipLocked) Drain(ctx context.Context, count int) (time.Duration, error) {
	began := time.Now()
	client, err := newClient(s.brokers)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	var published atomic.Int64
	errs := make([]error, s.cfg.Workers)
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() { errs[i] = s.work(ctx, client, &published) })
	}
	workers.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("rival: skiplocked: %w", err)
	}
	if got := published.Load(); got != int64(count) {
		return 0, fmt.Errorf("rival: skiplocked published %d messages, want %d", got, count)
	}
	return took, nil
}

// work publishes batches until there is none left.
func (s *SkipLocked) work(ctx context.Context, client *kgo.Client, published *atomic.Int64) error {
	for {
		sent := 0
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
			sent, err = s.publish(ctx, tx, client)
			return err
		})
		if err != nil || sent == 0 {
			return err
		}
		published.Add(int64(sent))
	}
}

const (
	skipLockedSelect = `SELECT id, message_id::text, topic, key, payload FROM skiplocked
		WHERE published_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`
	skipLockedMark = "UPDATE skiplocked SET published_at = now() WHERE id = ANY($1)"
)

// publish publishes one batch in tx.
func (s *SkipLocked) publish(ctx context.Context, tx pgx.Tx, client *kgo.Client) (int, error) {
	rows, err := tx.Query(ctx, skipLockedSelect, s.cfg.Batch)
	if err != nil {
		return 0, err
	}
	ids := make([]int64, 0, s.cfg.Batch)
	records := make([]*kgo.Record, 0, s.cfg.Batch)
	var (
		id               int64
		name, topic, key string
		payload          []byte
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &name, &topic, &key, &payload}, func() error {
		ids = append(ids, id)
		records = append(records, kafkaRecord(name, topic, key, payload))
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, skipLockedMark, ids)
	return len(ids), err
}
