package pginbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/pgerr"
)

// cleanUpTimeout bounds the rollback of a claim that failed.
const cleanUpTimeout = 5 * time.Second

// asyncCommit is the value of synchronous_commit that we refuse.
const asyncCommit = "off"

// poolStore is an driver.Store on a pgx pool.
type poolStore struct {
	keys
	*failures

	pool      *pgxpool.Pool
	isolation pgx.TxIsoLevel
}

var (
	_ driver.Parker     = (*poolStore)(nil)
	_ driver.Keeper     = (*poolStore)(nil)
	_ driver.Conflicter = (*poolStore)(nil)
)

// Claim implements driver.Store.
func (s *poolStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	return s.settle(ctx, s, id)
}

// remember implements claimer.
func (s *poolStore) remember(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	tx, status, err := s.claimOn(ctx, conn.Conn(), id)
	if tx == nil {
		conn.Release()
		return nil, status, err
	}
	return afterTrylock(ctx, &poolUnit{conn: conn, tx: tx})
}

// afterTrylock passes the point of failure at which the lock is held. Whatever
// happens there, the unit is returned or has ended.
func afterTrylock(ctx context.Context, unit driver.Unit) (_ driver.Unit, _ driver.Status, err error) {
	passed := false
	defer func() {
		if !passed {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
			defer cancel()
			_ = unit.Rollback(ctx) // the point's own error is the one to report
		}
	}()
	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterTrylock); err != nil {
		return nil, 0, err
	}
	passed = true
	return unit, driver.Claimed, nil
}

// claimOn claims id in a transaction on conn, which is open exactly if it is
// returned.
func (s *poolStore) claimOn(ctx context.Context, conn *pgx.Conn, messageID string) (pgx.Tx, driver.Status, error) {
	id := s.id(messageID)
	tx, status, err := s.claimAt(ctx, conn, id)
	for try := 1; pgerr.Is(err, pgerr.CheckViolation) && try < claimTries; try++ {
		if err = s.rehome(ctx, conn, id, err); err == nil {
			tx, status, err = s.claimAt(ctx, conn, id)
		}
	}
	return tx, status, err
}

// claimAt claims id where conn believes that it lives.
func (s *poolStore) claimAt(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (pgx.Tx, driver.Status, error) {
	number, err := s.number(ctx, conn)
	if err != nil {
		return nil, 0, err
	}
	at, err := s.home(ctx, conn, id)
	if err != nil {
		return nil, 0, err
	}
	tx, setting, err := s.begin(ctx, conn, at.claim, number, id, s.lock(id))
	switch {
	case err == nil && setting != asyncCommit:
		return tx, driver.Claimed, nil
	case err == nil:
		err = ErrNotDurable
	case errors.Is(err, pgx.ErrNoRows):
		status, err := s.look(ctx, conn, at, number, id)
		return nil, status, err
	}
	giveUp(ctx, conn)
	if pgerr.Is(err, pgerr.SerializationFailure) {
		// At repeatable read, a row that was committed after the claim's snapshot
		// and before its lock was tried is a conflict. It is a duplicate as well.
		status, err := s.look(ctx, conn, at, number, id)
		return nil, status, err
	}
	return nil, 0, explain(err)
}

// bare implements claimer.
func (s *poolStore) bare(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, 0, err
	}
	tx, setting, err := s.begin(ctx, conn.Conn(), s.claimNothing, lock)
	if err == nil && setting != asyncCommit {
		return &poolUnit{conn: conn, tx: tx}, driver.Claimed, nil
	}
	giveUp(ctx, conn.Conn())
	conn.Release()
	switch {
	case err == nil:
		return nil, 0, ErrNotDurable
	case errors.Is(err, pgx.ErrNoRows):
		return nil, driver.Busy, nil
	default:
		return nil, 0, explain(err)
	}
}

// begin sends BEGIN and the claim in one round trip. The error is pgx.ErrNoRows
// if the claim found nothing to insert; the transaction may be open either way.
func (s *poolStore) begin(ctx context.Context, conn *pgx.Conn, claim string, args ...any) (pgx.Tx, string, error) {
	var setting string
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{IsoLevel: s.isolation})
	batch.Queue(claim, args...)

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

// look ends the transaction if there is one and asks, in the same round trip,
// whether the message was processed. If it was not, whoever had its lock has not
// committed.
func (s *poolStore) look(ctx context.Context, conn *pgx.Conn, at home, number int16, id pgtype.UUID) (driver.Status, error) {
	if at.ranged {
		return s.lookInRange(ctx, conn, number, id)
	}
	var seen bool
	batch := &pgx.Batch{}
	if conn.PgConn().TxStatus() != 'I' {
		batch.Queue(`rollback`)
	}
	batch.Queue(s.seen, number, id).QueryRow(func(row pgx.Row) error { return row.Scan(&seen) })
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		giveUp(ctx, conn)
		return 0, explain(err)
	}
	if seen {
		return driver.Duplicate, nil
	}
	return driver.Busy, nil
}

// giveUp rolls back what a failed claim has left open, so that the pool can keep
// the connection. If that fails the pool closes it.
func giveUp(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, `rollback`) // the claim's own error is the one to report
}
