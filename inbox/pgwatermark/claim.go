package pgwatermark

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
)

// store is a driver.Store of positions.
type store struct {
	keys

	handle pgclaim.Handle
}

var _ driver.Classifier = (*store)(nil)

// Conflict implements driver.Classifier.
func (s *store) Conflict(err error) bool {
	return pgerr.Is(err, pgerr.SerializationFailure, pgerr.DeadlockDetected)
}

// Outage implements driver.Classifier.
func (s *store) Outage(err error) bool { return pgerr.Outage(err) }

// Claim implements driver.Store, by the position that ctx carries.
func (s *store) Claim(ctx context.Context, _ string) (driver.Unit, driver.Status, error) {
	at, err := s.place(ctx)
	if err != nil {
		return nil, 0, err
	}
	conn, err := s.handle.Take(ctx)
	if err != nil {
		return nil, 0, err
	}
	unit, status, err := s.claimOn(ctx, conn, at)
	if unit == nil {
		return nil, status, pgclaim.GiveBack(ctx, conn, err)
	}
	return unit, status, nil
}

// claimOn leaves conn to the returned unit, or to the caller if it returns no unit.
func (s *store) claimOn(ctx context.Context, conn pgclaim.Conn, at place) (driver.Unit, driver.Status, error) {
	var number int16
	err := conn.Use(func(conn *pgx.Conn) (err error) {
		number, err = s.number(ctx, conn)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	unit, err := pgclaim.Claim(ctx, conn, s.statements.claim, number, at.source, at.Partition, at.Offset, at.lock, at.Prev)
	switch {
	case err == nil:
		return unit, driver.Claimed, nil
	case errors.Is(err, sql.ErrNoRows), pgerr.Is(err, pgerr.SerializationFailure):
		// A conflict means that the row has changed between the snapshot and the lock.
		status, err := s.look(ctx, conn, number, at)
		return nil, status, err
	default:
		return nil, 0, pgclaim.Explain(err)
	}
}

// look ends the transaction, if there is one, and reads the remembered position in the same round
// trip.
func (s *store) look(ctx context.Context, conn pgclaim.Conn, number int16, at place) (driver.Status, error) {
	var next *int64
	var current *string
	err := conn.Use(func(conn *pgx.Conn) error {
		batch := &pgx.Batch{}
		if pgclaim.InTx(conn) {
			batch.Queue(`rollback`)
		}
		batch.Queue(s.statements.look, number, at.source, at.Partition, at.Topic).
			QueryRow(func(row pgx.Row) error { return row.Scan(&next, &current) })
		err := conn.SendBatch(ctx, batch).Close()
		if err != nil {
			pgclaim.Rollback(ctx, conn)
		}
		return err
	})
	if err != nil {
		return 0, pgclaim.Explain(err)
	}
	return at.verdict(next, current)
}
