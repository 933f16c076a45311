package pginbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
)

// sqlStore is an driver.Store on database/sql. It has no pipeline, so that BEGIN
// and the claim are two round trips.
type sqlStore struct {
	keys
	*failures

	db        *sql.DB
	isolation sql.IsolationLevel
}

var (
	_ driver.Parker     = (*sqlStore)(nil)
	_ driver.Keeper     = (*sqlStore)(nil)
	_ driver.Conflicter = (*sqlStore)(nil)
)

// Claim implements driver.Store.
func (s *sqlStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	return s.settle(ctx, s, id)
}

// remember implements claimer.
func (s *sqlStore) remember(ctx context.Context, messageID string) (driver.Unit, driver.Status, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	id := s.id(messageID)
	unit, status, err := s.claimOn(ctx, conn, id)
	for try := 1; pgerr.Is(err, pgerr.CheckViolation) && try < claimTries; try++ {
		refusal := err
		err = raw(conn, func(c *pgx.Conn) error { return s.rehome(ctx, c, id, refusal) })
		if err == nil {
			unit, status, err = s.claimOn(ctx, conn, id)
		}
	}
	if unit == nil {
		return nil, status, errors.Join(err, conn.Close())
	}
	return afterTrylock(ctx, unit)
}

// claimOn leaves conn to the unit, or to the caller where it returns none.
func (s *sqlStore) claimOn(ctx context.Context, conn *sql.Conn, id pgtype.UUID) (driver.Unit, driver.Status, error) {
	var number int16
	var at home
	err := raw(conn, func(c *pgx.Conn) (err error) {
		if number, err = s.number(ctx, c); err == nil {
			at, err = s.home(ctx, c, id)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	unit, setting, err := s.open(ctx, conn, at.claim, number, id, s.lock(id))
	switch {
	case err == nil && setting != asyncCommit:
		return unit, driver.Claimed, nil
	case err == nil:
		err = ErrNotDurable
	}
	if unit != nil {
		err = errors.Join(err, unit.rollback())
	}
	if errors.Is(err, sql.ErrNoRows) || pgerr.Is(err, pgerr.SerializationFailure) {
		status, err := s.look(ctx, conn, at, number, id)
		return nil, status, err
	}
	return nil, 0, explain(err)
}

// raw lends the pgx connection below conn to use.
func raw(conn *sql.Conn, use func(*pgx.Conn) error) error {
	return conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("leat: database/sql connection is a %T, want pgx's driver", driverConn)
		}
		return use(c.Conn())
	})
}

// bare implements claimer.
func (s *sqlStore) bare(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	unit, setting, err := s.open(ctx, conn, s.claimNothing, lock)
	if err == nil && setting != asyncCommit {
		return unit, driver.Claimed, nil
	}
	status := driver.Status(0)
	switch {
	case err == nil:
		err = ErrNotDurable
	case errors.Is(err, sql.ErrNoRows):
		status, err = driver.Busy, nil
	}
	if unit != nil {
		err = errors.Join(err, unit.rollback())
	}
	return nil, status, errors.Join(err, conn.Close())
}

// open opens a transaction with a claim, which returns a row with the setting of
// synchronous_commit. The transaction outlives ctx, since database/sql would roll it
// back with ctx even while it is being committed; ctx ends the claim only.
func (s *sqlStore) open(ctx context.Context, conn *sql.Conn, claim string, args ...any) (*sqlUnit, string, error) {
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tx, err := conn.BeginTx(txCtx, &sql.TxOptions{Isolation: s.isolation})
	if err != nil {
		stop()
		cancel()
		return nil, "", err
	}
	var setting string
	err = tx.QueryRowContext(txCtx, claim, args...).Scan(&setting)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	return &sqlUnit{conn: conn, tx: tx, cancel: cancel}, setting, err
}

// look asks whether the message was processed. If it was not, whoever had its
// lock has not committed.
func (s *sqlStore) look(ctx context.Context, conn *sql.Conn, at home, number int16, id pgtype.UUID) (driver.Status, error) {
	if at.ranged {
		var status driver.Status
		err := raw(conn, func(c *pgx.Conn) (err error) {
			status, err = s.lookInRange(ctx, c, number, id)
			return err
		})
		return status, err
	}
	var seen bool
	if err := conn.QueryRowContext(ctx, s.seen, number, id).Scan(&seen); err != nil {
		return 0, explain(err)
	}
	if seen {
		return driver.Duplicate, nil
	}
	return driver.Busy, nil
}

func sqlIsolation(level pgx.TxIsoLevel) sql.IsolationLevel {
	switch level {
	case pgx.ReadUncommitted:
		return sql.LevelReadUncommitted
	case pgx.ReadCommitted:
		return sql.LevelReadCommitted
	case pgx.RepeatableRead:
		return sql.LevelRepeatableRead
	case pgx.Serializable:
		return sql.LevelSerializable
	default:
		return sql.LevelDefault
	}
}
