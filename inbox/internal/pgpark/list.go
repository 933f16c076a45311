package pgpark

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/storable"
)

// Parked lists parked messages and those that wait behind them.
func (a *Admin) Parked(ctx context.Context, q admin.ParkedQuery) (all []admin.ParkedMessage, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.Use(ctx, q.Consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		all, err = a.list(ctx, conn, about, q)
		return err
	})
	return all, err
}

func (a *Admin) list(ctx context.Context, conn *pgx.Conn, about pgclaim.Asked, q admin.ParkedQuery) ([]admin.ParkedMessage, error) {
	hash := hashOf(about.Consumer, driver.Key{Topic: q.Topic, Name: q.Key})
	rows, err := pgpin.On{DB: conn}.Query(ctx, a.sql["parked_list"], about.Number, textOrNull(q.Topic), hash, orNull(q.Key), orNull(q.ID),
		textOrNull(string(q.State)), timestamp(q.Before), q.After, q.Limit, q.OmitPayload, textOrNull(q.Fingerprint))
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
	err = row.Scan(&p.No, &p.Consumer, &p.State, &p.Tries, &p.History.Attempts, &errs, &p.Reason, &p.History.First, &p.History.Last,
		&p.ParkedAt, &stored.id, &stored.topic, &stored.key, &stored.uuid, &stored.payload, &p.PayloadBytes, &stored.metadata, &stored.raw)
	if err != nil {
		return p, err
	}
	p.ID, p.Topic, p.Key = string(stored.id), stored.topic, string(stored.key)
	p.History.First, p.History.Last, p.ParkedAt = p.History.First.UTC(), p.History.Last.UTC(), p.ParkedAt.UTC()
	if p.History.Errors, err = parkjson.DecodeErrors(errs); err != nil {
		return p, err
	}
	p.Message, err = stored.message()
	return p, err
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	text = storable.Text(text)
	return &text
}

// Failures groups the messages that wait for an operator.
func (a *Admin) Failures(ctx context.Context, q admin.FailuresQuery) (all []admin.FailureGroup, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.Use(ctx, q.Consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		rows, err := pgpin.On{DB: conn}.Query(ctx, a.sql["parked_groups"], about.Number, textOrNull(q.Topic), q.Limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g admin.FailureGroup, err error) {
			err = row.Scan(&g.Consumer, &g.Topic, &g.Fingerprint, &g.Example, &g.Count, &g.First, &g.Last)
			g.First, g.Last = g.First.UTC(), g.Last.UTC()
			return g, err
		})
		return err
	})
	return all, err
}

// Attempts lists messages that are being tried.
func (a *Admin) Attempts(ctx context.Context, q admin.AttemptsQuery) (all []admin.Attempts, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	after := "00000000-0000-0000-0000-000000000000"
	if q.After != "" {
		after = pgclaim.IDText(q.After)
	}
	err = a.Use(ctx, q.Consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		rows, err := pgpin.On{DB: conn}.Query(ctx, a.sql["attempt_list"], about.Number, timestamp(q.Since), q.All, after, q.Limit)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (admin.Attempts, error) {
			h, errs := admin.Attempts{Consumer: q.Consumer}, ""
			err := row.Scan(&h.ID, &h.Attempts, &h.First, &h.Last, &errs)
			if err == nil {
				h.Errors, err = parkjson.DecodeErrors(errs)
			}
			h.First, h.Last = h.First.UTC(), h.Last.UTC()
			return h, err
		})
		return err
	})
	return all, err
}

// Audit returns entries of the audit.
func (a *Admin) Audit(ctx context.Context, q admin.AuditQuery) (all []admin.AuditEntry, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	statement := a.sql["audit_list"]
	if q.Newest {
		statement = a.sql["audit_newest"]
	}
	err = a.Use(ctx, q.Consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		rows, err := pgpin.On{DB: conn}.Query(ctx, statement, about.Number, textOrNull(q.Action), orNull(q.ID),
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
	err = row.Scan(&e.No, &e.At, &e.Consumer, &e.Action, &e.Actor, &e.Reason, &e.ParkedNo, &id, &e.Topic, &key, &details)
	e.At, e.ID, e.Key = e.At.UTC(), string(id), string(key)
	if details != nil {
		e.Details = json.RawMessage(*details)
	}
	return e, err
}
