package pgheld

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
)

// Queryer runs a query; *pgx.Conn and *pgxpool.Pool are Queryers.
type Queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Listed is a record that was set aside, as people see it.
type Listed struct {
	Row

	Attempts int
	Waits    bool // behind a parked one
	Errors   []Error
	Reason   string
	Since    time.Time
}

// Query selects what is listed: records with a Seq above After, of topics that
// match the pattern Topic, and with Key, where these are given; at most Limit.
type Query struct {
	Group, Topic, Key string
	After             int64
	Limit             int
}

// Parked lists parked records and those that wait behind them, ascending.
func (s *Statements) Parked(ctx context.Context, db Queryer, q Query) ([]Listed, error) {
	return list(ctx, db, s.listParked, q)
}

// Dead lists dead records, ascending.
func (s *Statements) Dead(ctx context.Context, db Queryer, q Query) ([]Listed, error) {
	return list(ctx, db, s.listDead, q)
}

func list(ctx context.Context, db Queryer, sql string, q Query) ([]Listed, error) {
	if err := checkTexts(map[string]string{"Group": q.Group, "Topic": q.Topic, "Key": q.Key}); err != nil {
		return nil, err
	}
	rows, err := db.Query(ctx, sql, q.Group, like(q.Topic), orNull(q.Key), q.After, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Listed, error) {
		var l Listed
		var state, raw string
		if err := row.Scan(append(l.scans(), &l.Attempts, &state, &raw, &l.Reason, &l.Since)...); err != nil {
			return Listed{}, err
		}
		l.Waits = state == "wait"
		return l, json.Unmarshal([]byte(raw), &l.Errors)
	})
}

// Entry is an entry of the audit.
type Entry struct {
	No            int64
	At            time.Time
	Action        string
	Actor, Reason string
	Group         string
	Seq           int64
	ID            string
	Topic, Key    string
	Details       *string
}

// AuditQuery selects entries: with a No above After, since a time, and with
// whatever else is given; at most Limit.
type AuditQuery struct {
	Group, Action, Topic, Key, ID string
	Since                         time.Time
	After                         int64
	Limit                         int
}

// Audit lists entries of the audit, the oldest first.
func (s *Statements) Audit(ctx context.Context, db Queryer, q AuditQuery) ([]Entry, error) {
	err := checkTexts(map[string]string{"Group": q.Group, "Action": q.Action, "Topic": q.Topic, "Key": q.Key, "ID": q.ID})
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
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
}
