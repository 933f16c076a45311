package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// sabotage is a rule that a run breaks, to show that the checker would notice. The empty one breaks
// none.
type sabotage string

const (
	// noInbox handles every delivery, including repeats.
	noInbox sabotage = "no-inbox"
	// ackBeforeCommit acknowledges before the handler's transaction has committed.
	ackBeforeCommit sabotage = "ack-before-commit"
	// idCursor reads the outbox by ascending number, remembering the last.
	idCursor sabotage = "id-cursor"
	// publishBeforeCommit publishes to Kafka from inside the transaction.
	publishBeforeCommit sabotage = "publish-before-commit"
)

// envSabotage names the rule to break.
const envSabotage = "SABOTAGE"

func sabotages() []sabotage {
	return []sabotage{noInbox, ackBeforeCommit, idCursor, publishBeforeCommit}
}

func parseSabotage(name string, on databaseName) (sabotage, error) {
	s := sabotage(name)
	if s == idCursor && on == onSQLite {
		return "", fmt.Errorf("%s=%s on SQLite breaks nothing: it has one writer, so numbers are in the order of commits",
			envSabotage, name)
	}
	if s == "" || slices.Contains(sabotages(), s) {
		return s, nil
	}
	return "", fmt.Errorf("%s=%s: want one of %s", envSabotage, name, strings.Trim(fmt.Sprint(sabotages()), "[]"))
}

// figure returns the verdict's figure in which the broken rule shows, and the name of the figure.
func (s sabotage) figure(v *verdict) (name string, value int) {
	switch s {
	case noInbox:
		return "double", v.Double
	case ackBeforeCommit, idCursor:
		return "lost", v.Lost
	case publishBeforeCommit:
		return "phantom", v.Phantom
	default:
		return "", 0
	}
}

// sparesRelay reports whether the relay has no part in the run, or is not leat's, so that none is
// killed.
func (s sabotage) sparesRelay() bool {
	return s == idCursor || s == publishBeforeCommit
}

// sabotaged returns the middleware around the consumer's handler: the correct one, or its
// replacement by SABOTAGE.
func (c *consumer) sabotaged(sound message.HandlerMiddleware) message.HandlerMiddleware {
	switch c.settings.Sabotage {
	case noInbox:
		return c.handleAlways
	case ackBeforeCommit:
		return c.ackThenHandle
	default:
		return sound
	}
}

// handleAlways breaks the rule that a message is remembered together with its effects: the handler
// has a transaction, and repeats are not detected.
func (c *consumer) handleAlways(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		return nil, c.handleInTransaction(msg, h)
	}
}

// ackThenHandle breaks the rule that a message is acknowledged after the commit. It does remember
// messages, so that it breaks only this rule.
func (c *consumer) ackThenHandle(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		msg.SetContext(context.WithoutCancel(msg.Context())) // which the ack would cancel
		msg.Ack()
		return nil, c.handleInTransaction(msg, func(msg *message.Message) ([]*message.Message, error) {
			n, err := c.stats.exec(msg.Context(), c.stats.tx(msg.Context()), "seen", msg.UUID)
			if err != nil || n == 0 {
				return nil, err
			}
			return h(msg)
		})
	}
}

// handleInTransaction runs h and enqueues what it returns, in one transaction.
func (c *consumer) handleInTransaction(msg *message.Message, h message.HandlerFunc) error {
	before := msg.Context()
	defer msg.SetContext(before)
	return c.stats.inTx(before, func(ctx context.Context, _ *sql.Tx) error {
		msg.SetContext(ctx)
		produced, err := h(msg)
		if err != nil {
			return err
		}
		for _, p := range produced {
			m, err := outbox.FromWatermill(message.PublishTopicFromCtx(ctx), p, nil)
			if err != nil {
				return err
			}
			if err := c.stats.outbox.EnqueueContext(ctx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// publishInTransaction breaks the rule that events are published only after the commit: it
// publishes while the transaction can still roll back.
func publishInTransaction(client *kgo.Client) func(context.Context, *sql.Tx, ...outbox.Message) error {
	return func(ctx context.Context, _ *sql.Tx, msgs ...outbox.Message) error {
		for _, m := range msgs {
			if err := client.ProduceSync(ctx, eventRecord(m.Topic, m.Key, m.ID, m.Payload)).FirstErr(); err != nil {
				return fmt.Errorf("publish: %w", err)
			}
		}
		return nil
	}
}

// eventRecord returns an event as leat's Kafka sink would send it.
func eventRecord(topic, key, id string, payload []byte) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Key: []byte(key), Value: payload,
		Headers: []kgo.RecordHeader{
			{Key: outbox.HeaderEventID, Value: []byte(id)},
			{Key: outbox.HeaderWatermillUUID, Value: []byte(id)},
		},
	}
}

const (
	// numberPage is how many events the relay by number reads at a time.
	numberPage = 500
	// numberPoll is how long it waits when there are no events.
	numberPoll = 2 * time.Millisecond
	// overtakeTimeout bounds the wait for it to pass an open transaction.
	overtakeTimeout = 30 * time.Second
)

// relayByNumber breaks the rule that a number is not a position. Numbers are drawn before the
// commit, so a late commit can have a number that was already passed.
func relayByNumber(ctx context.Context, s settings, db *store) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := (report{Leading: true}).send(); err != nil {
		return err
	}
	for last := int64(0); ctx.Err() == nil; {
		n, err := pageByNumber(ctx, s.Topic, db, client, &last)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if n == 0 {
			wait(ctx, numberPoll)
		}
	}
	return nil
}

// pageByNumber sends the events with a number above last, and moves last.
func pageByNumber(ctx context.Context, topic string, db *store, client *kgo.Client, last *int64) (n int, err error) {
	query, err := db.on.statement("id_cursor_page")
	if err != nil {
		return 0, err
	}
	rows, err := db.db.QueryContext(ctx, query, *last, numberPage)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var records []*kgo.Record
	for rows.Next() {
		var id, key string
		var payload []byte
		if err := rows.Scan(last, &id, &key, &payload); err != nil {
			return 0, err
		}
		records = append(records, eventRecord(topic, key, id, payload))
	}
	if err := rows.Err(); err != nil || len(records) == 0 {
		return 0, err
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return 0, err
	}
	return len(records), db.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := db.exec(ctx, tx, "id_cursor_move", *last)
		return err
	})
}

// untilOvertaken keeps tx open until the relay by number has passed its event. A transaction that
// is slow for a moment makes that likely; this makes it certain.
func (p *performance) untilOvertaken(ctx context.Context, tx *sql.Tx, id string) error {
	ctx, cancel := context.WithTimeout(ctx, overtakeTimeout)
	defer cancel()
	number, err := p.producer.scan(ctx, tx, "number", id)
	if err != nil {
		return err
	}
	for {
		var last int64
		err := p.producer.db.QueryRowContext(ctx, `SELECT last FROM id_cursor`).Scan(&last)
		if err != nil || last > number {
			return err
		}
		if !wait(ctx, numberPoll) {
			return ctx.Err()
		}
	}
}
