package pgpark

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// AttemptBatch implements driver.BatchAttempter.
func (s *Store) AttemptBatch(ctx context.Context, items []driver.BatchItem) ([]bool, error) {
	ids, hashes, keys := make([]pgtype.UUID, len(items)), make([]pgtype.Int8, len(items)), make([][]byte, len(items))
	for i, item := range items {
		ids[i], hashes[i], keys[i] = pgclaim.StoredID(item.ID), s.hash(item.Key), orNull(item.Key.Name)
	}
	var places []int64
	err := s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		args := []any{number, ids, hashes, keys, s.attemptCommit}
		first, last, err := s.span(ctx, conn, ids)
		if err != nil {
			return err
		}
		if first.Valid {
			err := conn.QueryRow(ctx, s.sql["attempt_batch_range"], planned(conn, append(args, first, last)...)...).Scan(&places)
			return errors.Join(err, s.forget(ctx, conn, number))
		}
		batch, forget := &pgx.Batch{}, s.takeSettled()
		batch.Queue(s.sql["attempt_batch"], args...).
			QueryRow(func(row pgx.Row) error { return row.Scan(&places) })
		if len(forget) > 0 {
			batch.Queue(s.sql["attempt_forget"], number, forget)
		}
		return conn.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return nil, err
	}
	alone := make([]bool, len(items))
	for _, place := range places {
		alone[place-1] = true
	}
	return alone, nil
}
