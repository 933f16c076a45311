package pgpark

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/internal/topics"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
)

var _ outboxdriver.Eraser = (*Admin)(nil)

// erasable is a parked message to delete.
type erasable struct {
	no       int64
	number   int16
	consumer string
	id       []byte
	topic    string
	key      []byte
}

// Erase implements outboxdriver.Eraser, for all consumers. The ids of messages stay, so that
// redeliveries are duplicates.
func (a *Admin) Erase(ctx context.Context, r outboxdriver.EraseRequest) (found outboxdriver.Erased, err error) {
	if err := erase.Check(&r); err != nil {
		return found, err
	}
	err = a.Use(ctx, "", func(conn *pgx.Conn, about pgclaim.Asked) error {
		rows, err := a.findParked(ctx, conn, &r)
		if err != nil {
			return err
		}
		for _, row := range rows {
			erase.Add(&found, erase.Parked, string(row.id), row.topic)
		}
		r = erase.With(r, found.IDs)
		var notes, attempts, audited int
		args := eraseArgs(&r)
		if err := conn.QueryRow(ctx, a.sql["erase_look"], args[0], args[1], args[2], storedIDs(r.IDs)).Scan(&notes, &attempts, &audited); err != nil {
			return err
		}
		erase.Count(&found, erase.Notes, notes)
		erase.Count(&found, erase.Attempts, attempts)
		erase.Count(&found, erase.Audit, audited)
		if r.DryRun {
			return nil
		}
		return a.eraseFound(ctx, conn, about, &r, rows)
	})
	return found, err
}

// eraseFound deletes the messages that were found, each under the lock of its key.
func (a *Admin) eraseFound(ctx context.Context, conn *pgx.Conn, about pgclaim.Asked, r *outboxdriver.EraseRequest, rows []erasable) error {
	durably := func(statement string, args ...any) error {
		return locked(ctx, conn, pgtype.Int8{}, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, statement, args...)
			return err
		})
	}
	if err := durably(a.sql["erase_audit"], eraseArgs(r)[:3]...); err != nil {
		return err
	}
	for _, row := range rows {
		consumer, key := about.Named(row.consumer), driver.Key{Topic: row.topic, Name: string(row.key)}
		err := locked(ctx, conn, hashOf(consumer, key), func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, a.sql["erase_parked"], row.no, r.Actor, r.Reason); err != nil {
				return err
			}
			return promote(ctx, tx, a.sql["redrive_next"], consumer, pgtype.Int2{Int16: row.number, Valid: true}, key)
		})
		if err != nil {
			return err
		}
	}
	if err := durably(a.sql["erase_notes"], storedIDs(r.IDs), bytesOf(r.IDs), r.Actor, r.Reason); err != nil {
		return err
	}
	return durably(a.sql["erase_audit"], eraseArgs(r)[:3]...)
}

func (a *Admin) findParked(ctx context.Context, conn *pgx.Conn, r *outboxdriver.EraseRequest) ([]erasable, error) {
	rows, err := conn.Query(ctx, a.sql["erase_find"], eraseArgs(r)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e erasable, err error) {
		err = row.Scan(&e.no, &e.number, &e.consumer, &e.id, &e.topic, &e.key)
		return e, err
	})
}

// eraseArgs returns the parameters by which statements select what to erase.
func eraseArgs(r *outboxdriver.EraseRequest) []any {
	var like, header, value *string
	if r.Topic != "" {
		pattern := topics.Like(r.Topic)
		like = &pattern
	}
	if r.Header != "" {
		header, value = &r.Header, &r.Value
	}
	return []any{orNull(r.Key), like, bytesOf(r.IDs), header, value}
}

func bytesOf(ids []string) [][]byte {
	all := make([][]byte, len(ids))
	for i, id := range ids {
		all[i] = []byte(id)
	}
	return all
}

func storedIDs(ids []string) []pgtype.UUID {
	all := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		all[i] = pgclaim.StoredID(id)
	}
	return all
}
