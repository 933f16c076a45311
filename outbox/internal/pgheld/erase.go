package pgheld

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// EraseArgs are the parameters by which statements select what to erase.
func EraseArgs(r *driver.EraseRequest) []any {
	var header, value *string
	if r.Header != "" {
		header, value = &r.Header, &r.Value
	}
	return []any{orNull(r.Key), orNull(topics.Like(r.Topic)), r.IDs, header, value}
}

// FindErased returns the held and dead records that r selects.
func (s *Statements) FindErased(ctx context.Context, db pglease.Beginner, r *driver.EraseRequest) (found driver.Erased, groups []string, err error) {
	seen := map[string]bool{}
	err = s.looking(ctx, db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.eraseLook, EraseArgs(r)...)
		if err != nil {
			return err
		}
		var place, group, id, topic string
		_, err = pgx.ForEachRow(rows, []any{&place, &group, &id, &topic}, func() error {
			erase.Add(&found, place, id, topic)
			seen[group] = true
			return nil
		})
		return err
	})
	return found, slices.Sorted(maps.Keys(seen)), err
}

// Erase deletes the held and dead records that r selects, in one transaction per group. A relay
// that has a record in flight skips it when it resolves it.
func (s *Statements) Erase(ctx context.Context, db pglease.Beginner, r *driver.EraseRequest, groups []string) error {
	for _, group := range groups {
		err := s.Locked(ctx, db, group, func(tx pgx.Tx) error {
			var touched keySet
			for _, statement := range []string{s.eraseHeld, s.eraseDead} {
				rows, err := tx.Query(ctx, statement, append(EraseArgs(r), group, r.Actor, r.Reason)...)
				if err != nil {
					return err
				}
				_, keys, err := collectChanged(rows)
				if err != nil {
					return err
				}
				touched.topics, touched.keys = append(touched.topics, keys.topics...), append(touched.keys, keys.keys...)
			}
			_, err := tx.Exec(ctx, s.settle, group, touched.topics, touched.keys)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FindAudited returns the number of audit entries about what r selects.
func (s *Statements) FindAudited(ctx context.Context, db pglease.Beginner, r *driver.EraseRequest) (n int, err error) {
	err = s.looking(ctx, db, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, s.eraseAuditLook, EraseArgs(r)[:3]...).Scan(&n)
	})
	return n, err
}

// EraseAudited reduces these entries to who did what to which id.
func (s *Statements) EraseAudited(ctx context.Context, db pglease.Beginner, r *driver.EraseRequest) error {
	return Durably(ctx, db, s.eraseAudit, EraseArgs(r)[:3]...)
}

// Durably runs a statement, and returns once its effect is on disk.
func Durably(ctx context.Context, db pglease.Beginner, statement string, args ...any) error {
	return pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
}
