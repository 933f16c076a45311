package pginbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
)

// AttemptBatch implements driver.BatchAttempter.
func (f *failures) AttemptBatch(ctx context.Context, items []driver.BatchItem) ([]bool, error) {
	ids, hashes, keys := make([]pgtype.UUID, len(items)), make([]pgtype.Int8, len(items)), make([][]byte, len(items))
	for i, item := range items {
		ids[i], hashes[i], keys[i] = storedID(item.ID), f.hash(item.Key), orNull(item.Key.Name)
	}
	var places []int64
	err := f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		args := []any{number, ids, hashes, keys, f.attemptCommit}
		first, last, err := f.claims.span(ctx, conn, ids)
		if err != nil {
			return err
		}
		if first.Valid {
			err := conn.QueryRow(ctx, f.sql["attempt_batch_range"], planned(conn, append(args, first, last)...)...).Scan(&places)
			return errors.Join(err, f.forget(ctx, conn, number))
		}
		batch, forget := &pgx.Batch{}, f.takeSettled()
		batch.Queue(f.sql["attempt_batch"], args...).
			QueryRow(func(row pgx.Row) error { return row.Scan(&places) })
		if len(forget) > 0 {
			batch.Queue(f.sql["attempt_forget"], number, forget)
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
