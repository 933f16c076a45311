package pgpark

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/storable"
)

// Parked lists parked messages and those that wait behind them.
func (s *Store) Parked(ctx context.Context, q admin.ParkedQuery) (all []admin.ParkedMessage, err error) {
	if q.Limit, err = admin.LimitOr(q.Limit); err != nil {
		return nil, err
	}
	err = s.look(ctx, func(conn *pgx.Conn, number int16) error {
		all, err = s.list(ctx, conn, number, q, "")
		return err
	})
	return all, err
}

func (s *Store) list(ctx context.Context, conn *pgx.Conn, number int16, q admin.ParkedQuery, state string) ([]admin.ParkedMessage, error) {
	hash := s.hash(driver.Key{Topic: q.Topic, Name: q.Key})
	rows, err := conn.Query(ctx, s.sql["parked_list"], number, textOrNull(storable.Text(q.Topic)), hash, orNull(q.Key), orNull(q.ID),
		textOrNull(state), timestamp(q.Before), q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanParked)
}

func scanParked(row pgx.CollectableRow) (p admin.ParkedMessage, err error) {
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

// Audit returns entries of the audit.
func (s *Store) Audit(ctx context.Context, q admin.AuditQuery) (all []admin.AuditEntry, err error) {
	if q.Limit, err = admin.LimitOr(q.Limit); err != nil {
		return nil, err
	}
	err = s.look(ctx, func(conn *pgx.Conn, number int16) error {
		rows, err := conn.Query(ctx, s.sql["audit_list"], number, textOrNull(storable.Text(q.Action)), orNull(q.ID),
			timestamp(q.Since), q.After, q.Limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanAudit)
		return err
	})
	return all, err
}

func scanAudit(row pgx.CollectableRow) (e admin.AuditEntry, err error) {
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
