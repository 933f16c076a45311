package pgheld

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// Queryer runs a query; *pgx.Conn and *pgxpool.Pool are Queryers.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Held lists held records, ascending.
func (s *Statements) Held(ctx context.Context, db Queryer, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, db, s.listHeld, storedState(q.State), q)
}

// Dead lists dead records, ascending.
func (s *Statements) Dead(ctx context.Context, db Queryer, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return list(ctx, db, s.listDead, nil, q)
}

// storedState returns state as it is stored in the table; nil for any.
func storedState(state admin.HeldState) *string {
	if state == admin.HeldRetrying {
		return new(stateRetry)
	}
	return orNull(string(state))
}

func list(ctx context.Context, db Queryer, sql string, state *string, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, sql, q.Group, state, like(q.Topic), orNull(q.Key), q.After, q.OmitPayload, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(found pgx.CollectableRow) (admin.HeldRecord, error) {
		h, err := scanHeld(found)
		h.Group = q.Group
		if q.OmitPayload {
			h.Payload = nil
		}
		return h, err
	})
}

// scanHeld reads a row of a list, and its additional columns.
func scanHeld(found pgx.CollectableRow, more ...any) (h admin.HeldRecord, err error) {
	var r row
	var raw string
	places := append(r.scans(), &h.Attempts, &h.State, &h.Waits, &raw, &h.Reason, &h.Since)
	if err := found.Scan(append(places, more...)...); err != nil {
		return h, err
	}
	if h.State == stateRetry {
		h.State = admin.HeldRetrying
	}
	h.Record, h.Since = r.record(), h.Since.In(time.UTC)
	h.Errors, err = failuresOf(raw)
	return h, err
}

// ByID lists the held and the dead records with an id, of all groups: at most the first hundred
// of either per group, and those with seqs.
func (s *Statements) ByID(ctx context.Context, db Queryer, id string, seqs []int64) (held, dead []admin.HeldRecord, err error) {
	for sql, found := range map[string]*[]admin.HeldRecord{s.traceHeld: &held, s.traceDead: &dead} {
		rows, err := db.Query(ctx, sql, append(idArgs(admin.Selection{ID: id}), seqs)...)
		if err != nil {
			return nil, nil, err
		}
		*found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (admin.HeldRecord, error) {
			var group string
			h, err := scanHeld(row, &group)
			h.Group = group
			return h, err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return held, dead, nil
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

// ParkedKeys lists parked keys, ascending in the Seq of their first record.
func (s *Statements) ParkedKeys(ctx context.Context, db Queryer, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, s.listKeys, q.Group, like(q.Topic), q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k admin.ParkedKey, err error) {
		err = row.Scan(&k.Key.Topic, &k.Key.Key, &k.Seq, &k.ID, &k.Records, &k.Attempts, &k.Reason, &k.LastError, &k.LastKind, &k.Since)
		k.Since = k.Since.In(time.UTC)
		return k, err
	})
}

// Failures lists the failures of parked or dead records, the most frequent first.
func (s *Statements) Failures(ctx context.Context, db Queryer, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	sql := s.listFailures
	if q.Dead {
		sql = s.listFailuresDead
	}
	rows, err := db.Query(ctx, sql, q.Group, like(q.Topic), q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (admin.FailureGroup, error) {
		f, err := pgx.RowToStructByPos[admin.FailureGroup](row)
		f.First, f.Last = f.First.In(time.UTC), f.Last.In(time.UTC)
		return f, err
	})
}

// Audit lists entries of the audit.
func (s *Statements) Audit(ctx context.Context, db Queryer, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	err := admin.Complete(&q)
	if err != nil {
		return nil, err
	}
	var since *time.Time
	if !q.Since.IsZero() {
		since = &q.Since
	}
	oldest, newest := s.listAudit, s.listAuditNewest
	if q.ID != "" {
		oldest, newest = s.listAuditID, s.listAuditIDNewest
	}
	sql, after := oldest, q.After
	if q.Newest {
		sql = newest
		after = cmp.Or(after, math.MaxInt64)
	}
	rows, err := db.Query(ctx, sql, orNull(q.Group), orNull(q.Action), orNull(q.Topic), orNull(q.Key), orNull(q.ID),
		since, after, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (admin.AuditEntry, error) {
		e, err := pgx.RowToStructByPos[admin.AuditEntry](row)
		e.At = e.At.In(time.UTC)
		return e, err
	})
}
