package pginbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/storable"
)

// maxListed bounds what one call lists or changes.
const maxListed = 10_000

// ParkedQuery selects parked messages, by all of its fields that are set.
type ParkedQuery struct {
	// Topic must be equal. With Key it selects the messages of one key.
	Topic, Key string
	// ID is the message's id.
	ID string
	// Before selects messages that were parked before it, by the database's clock.
	Before time.Time
	// After is the No of the last message of the page before.
	// Defaults to the start.
	After int64
	// Limit bounds the messages that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// ParkedMessage is a message that waits for people, or behind one that does.
type ParkedMessage struct {
	// No grows with each message that is parked. It has gaps.
	No int64
	// State is "parked" where the message waits for people, "redrive" where
	// RunRedrive is to run it, and "wait" where it follows another one of its key.
	State string
	// ID is the message's id, empty where it has none.
	ID string
	// Topic and Key order it.
	Topic, Key string
	// Message is the message as it came.
	Message *message.Message
	// History is what is known of its attempts.
	History driver.History
	// Tries is the number of attempts since it was redriven.
	Tries int
	// Reason is why it was parked, empty where it follows another one.
	Reason string
	// ParkedAt is when it was parked, by the database's clock.
	ParkedAt time.Time
}

// Parked lists the consumer's parked messages and those that wait behind them, in
// the order in which they were parked. It writes nothing, and needs SELECT on
// <table>_consumers and <table>_parked. Errors: ErrInvalidRequest, ErrUnknownConsumer,
// or the database's.
func (in *Inbox) Parked(ctx context.Context, q ParkedQuery) (all []ParkedMessage, err error) {
	if q.Limit, err = limitOr(q.Limit); err != nil {
		return nil, err
	}
	err = in.failures.look(ctx, func(conn *pgx.Conn, number int16) error {
		all, err = in.failures.list(ctx, conn, number, q, "")
		return err
	})
	return all, err
}

func limitOr(limit int) (int, error) {
	if limit == 0 {
		return 100, nil
	}
	if limit < 1 || limit > maxListed {
		return 0, fmt.Errorf("%w: Limit = %d: must be 1 to %d", ErrInvalidRequest, limit, maxListed)
	}
	return limit, nil
}

func (f *failures) list(ctx context.Context, conn *pgx.Conn, number int16, q ParkedQuery, state string) ([]ParkedMessage, error) {
	hash := f.hash(driver.Key{Topic: q.Topic, Name: q.Key})
	rows, err := conn.Query(ctx, f.sql["parked_list"], number, textOrNull(storable.Text(q.Topic)), hash, orNull(q.Key), orNull(q.ID),
		textOrNull(state), timestamp(q.Before), q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanParked)
}

func scanParked(row pgx.CollectableRow) (p ParkedMessage, err error) {
	var (
		stored storedMessage
		errs   string
	)
	err = row.Scan(&p.No, &p.State, &p.Tries, &p.History.Attempts, &errs, &p.Reason, &p.History.First, &p.History.Last, &p.ParkedAt,
		&stored.id, &stored.topic, &stored.key, &stored.uuid, &stored.payload, &stored.metadata, &stored.raw)
	if err != nil {
		return p, err
	}
	p.ID, p.Topic, p.Key = string(stored.id), stored.topic, string(stored.key)
	p.History.First, p.History.Last, p.ParkedAt = p.History.First.UTC(), p.History.Last.UTC(), p.ParkedAt.UTC()
	if p.History.Errors, err = loadErrors(errs); err != nil {
		return p, err
	}
	p.Message, err = stored.message()
	return p, err
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// AuditQuery selects entries of the audit, by all of its fields that are set.
type AuditQuery struct {
	// Action and ID must be equal.
	Action, ID string
	// Since is the earliest time, by the database's clock.
	Since time.Time
	// After is the No of the last entry of the page before.
	After int64
	// Limit bounds the entries that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

// AuditEntry says who did what to which message, and why.
type AuditEntry struct {
	// No grows with each entry. It has gaps.
	No int64
	// At is the database's clock.
	At time.Time
	// Action is park or done of what the inbox did, redrive, skip_head or drop of
	// what people did.
	Action string
	// Actor is who did it: the consumer, or By.Actor.
	Actor, Reason string
	// ParkedNo is the message's No. ID, Topic and Key are the message's.
	ParkedNo       int64
	ID, Topic, Key string
	// Details is a JSON object, or nil.
	Details json.RawMessage
}

// Audit returns entries of the consumer's audit, the oldest first. It writes nothing,
// and needs SELECT on <table>_consumers and <table>_audit. Errors: ErrInvalidRequest,
// ErrUnknownConsumer, or the database's.
func (in *Inbox) Audit(ctx context.Context, q AuditQuery) (all []AuditEntry, err error) {
	if q.Limit, err = limitOr(q.Limit); err != nil {
		return nil, err
	}
	err = in.failures.look(ctx, func(conn *pgx.Conn, number int16) error {
		rows, err := conn.Query(ctx, in.failures.sql["audit_list"], number, textOrNull(storable.Text(q.Action)), orNull(q.ID),
			timestamp(q.Since), q.After, q.Limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanAudit)
		return err
	})
	return all, err
}

func scanAudit(row pgx.CollectableRow) (e AuditEntry, err error) {
	var (
		id, key []byte
		details *string
	)
	err = row.Scan(&e.No, &e.At, &e.Action, &e.Actor, &e.Reason, &e.ParkedNo, &id, &e.Topic, &key, &details)
	e.At, e.ID, e.Key = e.At.UTC(), string(id), string(key)
	if details != nil {
		e.Details = json.RawMessage(*details)
	}
	return e, err
}
