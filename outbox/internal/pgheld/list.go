package pgheld

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// Queryer runs a query; *pgx.Conn and *pgxpool.Pool are Queryers.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Parked lists parked records and those that wait behind them, ascending.
func (s *Statements) Parked(ctx context.Context, db Queryer, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, db, s.listParked, q)
}

// Dead lists dead records, ascending.
func (s *Statements) Dead(ctx context.Context, db Queryer, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, db, s.listDead, q)
}

func list(ctx context.Context, db Queryer, sql string, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	q, err := q.Complete()
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, sql, q.Group, like(q.Topic), orNull(q.Key), q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(found pgx.CollectableRow) (h admin.HeldRecord, err error) {
		var r row
		var state, raw string
		if err := found.Scan(append(r.scans(), &h.Attempts, &state, &raw, &h.Reason, &h.Since)...); err != nil {
			return h, err
		}
		h.Record, h.Waits, h.Since = r.record(), state == stateWaits, h.Since.In(time.UTC)
		h.Errors, err = failuresOf(raw)
		return h, err
	})
}

func failuresOf(raw string) ([]admin.Failure, error) {
	var stored []failure
	if err := json.Unmarshal([]byte(raw), &stored); err != nil {
		return nil, err
	}
	all := make([]admin.Failure, len(stored))
	for i, f := range stored {
		all[i] = admin.Failure(f)
	}
	return all, nil
}

// Audit lists entries of the audit, the oldest first.
func (s *Statements) Audit(ctx context.Context, db Queryer, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	q, err := q.Complete()
	if err != nil {
		return nil, err
	}
	var since *time.Time
	if !q.Since.IsZero() {
		since = &q.Since
	}
	rows, err := db.Query(ctx, s.listAudit, orNull(q.Group), orNull(q.Action), orNull(q.Topic), orNull(q.Key), orNull(q.ID),
		since, q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (admin.AuditEntry, error) {
		e, err := pgx.RowToStructByPos[admin.AuditEntry](row)
		e.At = e.At.In(time.UTC)
		return e, err
	})
}
