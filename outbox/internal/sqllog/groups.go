package sqllog

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
)

// GroupState is the row of a group with what operators and relays have stored for it.
type GroupState struct {
	GroupRow

	Name    string
	Paused  []string
	MaxLag  time.Duration
	Created time.Time
	// Began is the number after which the group has begun to read.
	Began int64
	// Former are its former names.
	Former []string
	// Policies are the policies of its relays.
	Policies basis.Policies
}

// Groups returns all groups, by name.
func (l *Log) Groups(ctx context.Context, q sqlstore.Querier) (all []GroupState, err error) {
	err = sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
		var g GroupState
		var name, owner, gaps, topics, paused, former, policies, server, before []byte
		var left, now, last, lag, created, changed int64
		if err := scan(&name, &owner, &g.Epoch, &left, &now, &last, &gaps, &topics, &paused, &lag, &created, &g.Began, &former, &policies, &server, &before, &changed); err != nil {
			return err
		}
		g.Name, g.Owner, g.Left, g.Now = string(name), string(owner), time.Duration(left)*time.Microsecond, sqlstore.Time(now)
		g.Server = serverChange(server, before, now-changed)
		g.MaxLag, g.Created = time.Duration(lag)*time.Microsecond, sqlstore.Time(created)
		g.Policies = basis.ParsePolicies(string(policies)).Alive("", g.Now)
		var err error
		if g.At, err = ParsePosition(last, string(gaps)); err != nil {
			return err
		}
		if g.Topics, err = ParseTexts(topics); err != nil {
			return err
		}
		if g.Paused, err = ParseTexts(paused); err != nil {
			return err
		}
		g.Former, err = ParseTexts(former)
		all = append(all, g)
		return err
	}, l.SQL["groups"])
	return all, err
}

// KeepPolicies implements the method of driver.PolicyKeeper, for a group.
func (l *Log) KeepPolicies(ctx context.Context, group string, change func(note string, now time.Time) string) (kept bool, err error) {
	for {
		var note []byte
		var now int64
		err := l.Look(ctx, func(q sqlstore.Querier) error {
			return q.QueryRowContext(ctx, l.SQL["policies"], []byte(group)).Scan(&note, &now)
		})
		if sqlstore.IsNoRows(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		next := change(string(note), sqlstore.Time(now))
		if next == string(note) {
			return true, nil
		}
		var rows int64
		err = l.Change(ctx, func(tx *sql.Tx) error {
			done, err := tx.ExecContext(ctx, l.SQL["policies_keep"], []byte(next), []byte(group), []byte(string(note))) // nil would be NULL
			if err == nil {
				rows, err = done.RowsAffected()
			}
			return err
		})
		if err != nil || rows > 0 {
			return err == nil, err
		}
	}
}

// ParseTexts reads a list of texts; an empty text is not valid.
func ParseTexts(raw []byte) (texts []string, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &texts)
	}
	return texts, err
}
