package pginbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
)

// watermarkPool is an driver.Store of positions on a pgx pool.
type watermarkPool struct {
	watermarkKeys

	pool      *pgxpool.Pool
	isolation pgx.TxIsoLevel
}

var _ driver.Store = (*watermarkPool)(nil)

// Claim implements driver.Store, by the position that ctx carries.
func (s *watermarkPool) Claim(ctx context.Context, _ string) (driver.Unit, driver.Status, error) {
	at, err := s.place(ctx)
	if err != nil {
		return nil, 0, err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	unit, status, err := s.claimOn(ctx, conn, at)
	if unit == nil {
		conn.Release()
		return nil, status, err
	}
	return unit, status, nil
}

// claimOn leaves conn to the unit, or to the caller where it returns none.
func (s *watermarkPool) claimOn(ctx context.Context, conn *pgxpool.Conn, at place) (driver.Unit, driver.Status, error) {
	number, err := s.number(ctx, conn.Conn())
	if err != nil {
		return nil, 0, err
	}
	tx, setting, err := s.open(ctx, conn.Conn(), number, at)
	switch {
	case err == nil && setting != asyncCommit:
		return &poolUnit{conn: conn, tx: tx}, driver.Claimed, nil
	case err == nil:
		err = ErrNotDurable
	case errors.Is(err, pgx.ErrNoRows):
		status, err := s.lookAt(ctx, conn.Conn(), number, at)
		return nil, status, err
	}
	giveUp(ctx, conn.Conn())
	if pgerr.Is(err, pgerr.SerializationFailure) {
		// The row has changed between the snapshot and the lock.
		status, err := s.lookAt(ctx, conn.Conn(), number, at)
		return nil, status, err
	}
	return nil, 0, explain(err)
}

// open sends BEGIN and the claim in one round trip. The error is pgx.ErrNoRows if
// the claim found nothing to update; the transaction may be open either way.
func (s *watermarkPool) open(ctx context.Context, conn *pgx.Conn, number int16, at place) (pgx.Tx, string, error) {
	var setting string
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{IsoLevel: s.isolation})
	batch.Queue(s.claim, number, at.source, at.Partition, at.Offset, at.lock, at.Prev)

	results := conn.SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // the same error
		return nil, "", err
	}
	err := results.QueryRow().Scan(&setting)
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return results.Tx(), setting, err
}

// lookAt ends the transaction if there is one and asks, in the same round trip,
// what is remembered.
func (s *watermarkPool) lookAt(ctx context.Context, conn *pgx.Conn, number int16, at place) (driver.Status, error) {
	var next *int64
	var current *string
	batch := &pgx.Batch{}
	if conn.PgConn().TxStatus() != 'I' {
		batch.Queue(`rollback`)
	}
	batch.Queue(s.look, number, at.source, at.Partition, at.Topic).
		QueryRow(func(row pgx.Row) error { return row.Scan(&next, &current) })
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		giveUp(ctx, conn)
		return 0, explain(err)
	}
	return at.verdict(next, current)
}
