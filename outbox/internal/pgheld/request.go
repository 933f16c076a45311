package pgheld

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// keyArgs and filterArgs return parameters of the statements that select by s: NULL for each field that s leaves empty.
func keyArgs(s admin.Selection) []any {
	if s.Key == "" {
		return []any{(*string)(nil), (*string)(nil)}
	}
	return []any{s.Topic, s.Key}
}

func idArgs(s admin.Selection) []any {
	if s.ID == "" {
		return []any{(*string)(nil), (*string)(nil)}
	}
	id, _ := ids.Map(s.ID)
	return []any{ids.Text(id), s.ID}
}

func filterArgs(s admin.Selection) []any {
	var before *time.Time
	if !s.Before.IsZero() {
		before = &s.Before
	}
	return []any{like(s.Topics), orNull(s.Kind), orNull(s.Fingerprint), before}
}

// like returns pattern in the syntax of LIKE, or nil if it is empty.
func like(pattern string) *string {
	return orNull(topics.Like(pattern))
}

// Locked runs work in a transaction that takes turns with the relays of group, and is durable
// when it returns.
func (s *Statements) Locked(ctx context.Context, db pglease.Beginner, group string, work func(tx pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		for _, set := range []string{"SET LOCAL synchronous_commit = on", "SET LOCAL lock_timeout = '10s'"} {
			if _, err := tx.Exec(ctx, set); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, s.lock, s.lockOf(group)); err != nil {
			return err
		}
		return work(tx)
	})
}

// Note writes an entry of the audit about the whole group. details is JSON.
func (s *Statements) Note(ctx context.Context, tx pgx.Tx, group, action string, by admin.By, details string) error {
	_, err := tx.Exec(ctx, s.note, action, by.Actor, by.Reason, group, string(by.Annotate(json.RawMessage(details))))
	return err
}
