package pginbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
)

var _ driver.BatchStore = (*sqlStore)(nil)

// ClaimBatch implements driver.BatchStore.
func (s *sqlStore) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	unit, statuses, err := s.claimBatchOn(ctx, conn, items)
	if unit == nil {
		return nil, statuses, errors.Join(err, conn.Close())
	}
	return unit, statuses, nil
}

// claimBatchOn leaves conn to the unit, or to the caller where it returns none.
func (s *sqlStore) claimBatchOn(
	ctx context.Context, conn *sql.Conn, items []driver.BatchItem,
) (driver.Unit, []driver.Status, error) {
	number, err := s.numberOn(ctx, conn)
	if err != nil {
		return nil, nil, err
	}
	var at batchHome
	err = raw(conn, func(c *pgx.Conn) (err error) {
		at, err = s.batchHome(ctx, c, items)
		return err
	})
	if err != nil || len(at.items) == 0 {
		return nil, allAlone(items), err
	}
	unit, answer, err := s.beginBatch(ctx, conn, at.claim, number, s.batchArgs(at.items))
	statuses, claimed := answer.statuses(len(at.items))
	statuses = at.statuses(statuses)
	if err == nil && claimed > 0 && answer.setting == asyncCommit {
		err = ErrNotDurable
	}
	if err == nil && claimed > 0 {
		return unit, statuses, nil
	}
	if unit != nil {
		err = errors.Join(err, unit.rollback())
	}
	if pgerr.Is(err, pgerr.CheckViolation) {
		return nil, allAlone(items), nil
	}
	if err != nil {
		return nil, nil, explainBatch(err)
	}
	return nil, statuses, nil
}

// numberOn is number on a connection of database/sql.
func (s *sqlStore) numberOn(ctx context.Context, conn *sql.Conn) (number int16, err error) {
	err = raw(conn, func(c *pgx.Conn) (err error) {
		number, err = s.number(ctx, c)
		return err
	})
	return number, err
}

// beginBatch opens a transaction that outlives ctx; see begin.
func (s *sqlStore) beginBatch(ctx context.Context, conn *sql.Conn, claim string, number int16, args batchArgs) (*sqlUnit, batchAnswer, error) {
	var a batchAnswer
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tx, err := conn.BeginTx(txCtx, &sql.TxOptions{Isolation: s.isolation})
	if err != nil {
		stop()
		cancel()
		return nil, a, err
	}
	types := pgtype.NewMap()
	err = tx.QueryRowContext(txCtx, claim, number, args.ids, args.locks).
		Scan(&a.setting, types.SQLScanner(&a.refused), types.SQLScanner(&a.seen))
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	return &sqlUnit{conn: conn, tx: tx, cancel: cancel}, a, err
}
