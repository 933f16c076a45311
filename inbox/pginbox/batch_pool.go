package pginbox

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
)

var _ driver.BatchStore = (*poolStore)(nil)

// ClaimBatch implements driver.BatchStore.
func (s *poolStore) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	unit, statuses, err := s.claimBatchOn(ctx, conn, items)
	if unit == nil {
		giveUp(ctx, conn.Conn())
		conn.Release()
	}
	return unit, statuses, err
}

// claimBatchOn leaves conn to the unit, or to the caller where it returns none,
// perhaps in a transaction.
func (s *poolStore) claimBatchOn(
	ctx context.Context, conn *pgxpool.Conn, items []driver.BatchItem,
) (driver.Unit, []driver.Status, error) {
	number, err := s.number(ctx, conn.Conn())
	if err != nil {
		return nil, nil, err
	}
	at, err := s.batchHome(ctx, conn.Conn(), items)
	if err != nil || len(at.items) == 0 {
		return nil, allAlone(items), err
	}
	tx, answer, err := s.beginBatch(ctx, conn.Conn(), at.claim, number, s.batchArgs(at.items))
	if pgerr.Is(err, pgerr.CheckViolation) {
		return nil, allAlone(items), nil
	}
	if err != nil {
		return nil, nil, explainBatch(err)
	}
	statuses, claimed := answer.statuses(len(at.items))
	statuses = at.statuses(statuses)
	switch {
	case claimed == 0:
		return nil, statuses, nil
	case answer.setting == asyncCommit:
		return nil, nil, ErrNotDurable
	default:
		return &poolUnit{conn: conn, tx: tx}, statuses, nil
	}
}

// beginBatch sends BEGIN and the claim in one round trip. The transaction may be
// open whatever the error.
func (s *poolStore) beginBatch(ctx context.Context, conn *pgx.Conn, claim string, number int16, args batchArgs) (pgx.Tx, batchAnswer, error) {
	var a batchAnswer
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{IsoLevel: s.isolation})
	batch.Queue(claim, number, args.ids, args.locks).QueryRow(func(row pgx.Row) error {
		return row.Scan(&a.setting, &a.refused, &a.seen)
	})
	results := conn.SendBatch(ctx, batch)
	err := results.Close()
	return results.Tx(), a, err
}
