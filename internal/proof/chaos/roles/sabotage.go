package roles

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/proof/history"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// publisher publishes an event inside its transaction: it is out, whatever becomes of
// the transaction.
func (p *process) publisher() (publish func(context.Context, pgx.Tx, outbox.Message) error, done func(), err error) {
	client, err := p.producer()
	if err != nil {
		return nil, nil, err
	}
	publish = func(ctx context.Context, _ pgx.Tx, m outbox.Message) error {
		return client.ProduceSync(ctx, record(m.Topic, m.Key, m.ID, m.Payload)).FirstErr()
	}
	return publish, client.Close, nil
}

func (p *process) producer() (*kgo.Client, error) {
	client, err := kgo.NewClient(append(p.kafkaOptions(), kgo.SeedBrokers(p.Brokers...), kgo.ProducerLinger(0))...)
	if err != nil {
		return nil, fmt.Errorf("make a kafka client: %w", err)
	}
	return client, nil
}

func record(topic, key, id string, payload []byte) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Key: []byte(key), Value: payload,
		Headers: []kgo.RecordHeader{{Key: outbox.HeaderEventID, Value: []byte(id)}},
	}
}

// relayByNumber takes a number for a position. Numbers are drawn before the commit:
// what commits late has one that was passed already. One process does it.
func (p *process) relayByNumber(ctx context.Context) error {
	pool, err := p.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	client, err := p.producer()
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS id_cursor AS SELECT 0::bigint AS last`)
	if err != nil {
		return fmt.Errorf("make the cursor: %w", err)
	}
	for ctx.Err() == nil {
		n, err := p.pageByNumber(ctx, pool, client)
		p.settled.Add(int64(n))
		if err != nil {
			p.watch.seen("retry of a page")
		}
		if n == 0 {
			pause(ctx, 5*time.Millisecond)
		}
	}
	return nil
}

// pageByNumber sends what has a number above the cursor, and moves it.
func (p *process) pageByNumber(ctx context.Context, pool *pgxpool.Pool, client *kgo.Client) (int, error) {
	rows, err := pool.Query(ctx, `
		SELECT seq, coalesce(id_text, id::text), topic, key, payload FROM leat.outbox
		WHERE seq > (SELECT last FROM id_cursor) AND octet_length(payload) < $1 ORDER BY seq LIMIT 500`, MaxMessageBytes)
	if err != nil {
		return 0, fmt.Errorf("read a page: %w", err)
	}
	var last int64
	var id, topic, key string
	var payload []byte
	var records []*kgo.Record
	_, err = pgx.ForEachRow(rows, []any{&last, &id, &topic, &key, &payload}, func() error {
		records = append(records, record(topic, key, id, append([]byte(nil), payload...)))
		return nil
	})
	if err != nil || len(records) == 0 {
		return 0, err
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return 0, fmt.Errorf("publish a page: %w", err)
	}
	if _, err := pool.Exec(ctx, `UPDATE id_cursor SET last = $1`, last); err != nil {
		return 0, fmt.Errorf("move the cursor: %w", err)
	}
	return len(records), nil
}

// ackFirst acknowledges a message before anything has come of it.
func ackFirst(next message.HandlerMiddleware) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		handle := next(h)
		return func(msg *message.Message) ([]*message.Message, error) {
			late := msg.Copy()
			late.SetContext(context.WithoutCancel(msg.Context()))
			go func() {
				defer func() { _ = recover() }()
				_, _ = handle(late)
			}()
			return nil, nil
		}
	}
}

// withoutInbox runs a handler in a transaction that remembers nothing.
func (p *process) withoutInbox(pool *pgxpool.Pool, ob *pgoutbox.Outbox) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			own := msg.Context()
			defer msg.SetContext(own)
			err := pgx.BeginFunc(own, pool, func(tx pgx.Tx) error {
				ctx := pgoutbox.ContextWithTx(own, tx)
				msg.SetContext(ctx)
				out, err := h(msg)
				if err != nil || len(out) == 0 {
					return err
				}
				m, err := outbox.FromWatermill(TopicReceipts, out[0], nil)
				if err != nil {
					return err
				}
				return ob.EnqueueContext(ctx, m)
			})
			switch {
			case errors.Is(err, errPoison):
				return nil, nil
			case err != nil:
				p.watch.seen("rollback of the effect")
				return nil, err
			}
			p.effects.Add(1)
			p.note(history.Line{Type: history.Effect, ID: msg.UUID, Consumer: Ledger})
			return nil, nil
		}
	}
}
