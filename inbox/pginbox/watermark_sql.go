package pginbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgerr"
)

// watermarkSQL is an driver.Store of positions on database/sql.
type watermarkSQL struct {
	watermarkKeys

	db        *sql.DB
	isolation sql.IsolationLevel
}

var _ driver.Store = (*watermarkSQL)(nil)

// Claim implements driver.Store, by the position that ctx carries.
func (s *watermarkSQL) Claim(ctx context.Context, _ string) (driver.Unit, driver.Status, error) {
	at, err := s.place(ctx)
	if err != nil {
		return nil, 0, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, 0, err
	}
	unit, status, err := s.claimOn(ctx, conn, at)
	if unit == nil {
		return nil, status, errors.Join(err, conn.Close())
	}
	return unit, status, nil
}

// claimOn leaves conn to the unit, or to the caller where it returns none.
func (s *watermarkSQL) claimOn(ctx context.Context, conn *sql.Conn, at place) (driver.Unit, driver.Status, error) {
	number, err := s.numberOn(ctx, conn)
	if err != nil {
		return nil, 0, err
	}
	unit, setting, err := s.open(ctx, conn, number, at)
	switch {
	case err == nil && setting != asyncCommit:
		return unit, driver.Claimed, nil
	case err == nil:
		err = ErrNotDurable
	}
	if unit != nil {
		err = errors.Join(err, unit.rollback())
	}
	if !errors.Is(err, sql.ErrNoRows) && !pgerr.Is(err, pgerr.SerializationFailure) {
		return nil, 0, explain(err)
	}
	var next *int64
	var current *string
	row := conn.QueryRowContext(ctx, s.look, number, at.source, at.Partition, at.Topic)
	if err := row.Scan(&next, &current); err != nil {
		return nil, 0, explain(err)
	}
	status, err := at.verdict(next, current)
	return nil, status, err
}

func (s *watermarkSQL) numberOn(ctx context.Context, conn *sql.Conn) (number int16, err error) {
	err = conn.Raw(func(driverConn any) (err error) {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("leat: database/sql connection is a %T, want pgx's driver", driverConn)
		}
		number, err = s.number(ctx, c.Conn())
		return err
	})
	return number, err
}

// open begins a transaction that outlives ctx and claims in it; see sqlStore's
// begin.
func (s *watermarkSQL) open(ctx context.Context, conn *sql.Conn, number int16, at place) (*sqlUnit, string, error) {
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tx, err := conn.BeginTx(txCtx, &sql.TxOptions{Isolation: s.isolation})
	if err != nil {
		stop()
		cancel()
		return nil, "", err
	}
	var setting string
	row := tx.QueryRowContext(txCtx, s.claim, number, at.source, at.Partition, at.Offset, at.lock, at.Prev)
	err = row.Scan(&setting)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	return &sqlUnit{conn: conn, tx: tx, cancel: cancel}, setting, err
}
