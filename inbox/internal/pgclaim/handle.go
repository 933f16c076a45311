// Package pgclaim is the common part of the PostgreSQL inboxes of ids and of positions: a claim
// is the first statement of a transaction, of a pgx pool or of database/sql, in which the handler
// then writes.
// See design 1.4.
package pgclaim

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fullpool"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// Async is the value of synchronous_commit that is refused.
const Async = "off"

// CleanUpTimeout bounds work that must be done even if the caller's context has ended.
const CleanUpTimeout = 5 * time.Second

// Handle takes connections of a pgx pool or of database/sql.
type Handle interface {
	// Take takes a connection that is not in a transaction.
	Take(ctx context.Context) (Conn, error)
	// DB lends connections for everything but claims.
	DB() pgmigrate.DB
	// Full returns the Pool that watches the connections taken by Take.
	Full() *fullpool.Pool
}

// Conn is a connection that was taken.
type Conn interface {
	// Use lends the connection below to use.
	Use(use func(conn *pgx.Conn) error) error
	// Open opens a transaction with a claim, a statement that returns a row into dest.
	// The Unit owns the connection then. The transaction outlives ctx. The error is
	// sql.ErrNoRows if there is no row; after an error the transaction may be open.
	Open(ctx context.Context, claim string, args []any, dest ...any) (driver.Unit, error)
	// Insert is Open for a claim that returns no row: the error is sql.ErrNoRows if it
	// has not written as many rows as want.
	Insert(ctx context.Context, claim string, args []any, want int64) (driver.Unit, error)
	// End rolls back the transaction that Open has left open, if there is one, and keeps the
	// connection. If that fails the connection is closed.
	End(ctx context.Context) error
	// Release returns the connection to its pool.
	Release() error
}

// GiveBack releases the connection of a claim that has failed for err, or found nothing, and
// returns both errors. A session that is refused because of its settings is closed: otherwise the
// pool would hand it to one claim after another, while good sessions are busy with handlers.
func GiveBack(ctx context.Context, c Conn, err error) error {
	if unfit(err) {
		_ = c.Use(func(conn *pgx.Conn) error {
			Close(ctx, conn)
			return nil
		})
	}
	return errors.Join(err, c.Release())
}

func unfit(err error) bool {
	return errors.Is(err, outbox.ErrNotDurable) || errors.Is(err, outbox.ErrRowSecurity) || pgerr.Unfit(err)
}

// Close closes conn for good.
func Close(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CleanUpTimeout)
	defer cancel()
	_ = conn.Close(ctx) // there is another error to report
}

// Claim opens a transaction with a claim whose row is the setting of synchronous_commit. It
// returns ErrNotDurable if that is off. If there is no row, it leaves the transaction open, since
// the next statement can end it in the same round trip.
func Claim(ctx context.Context, c Conn, claim string, args ...any) (driver.Unit, error) {
	var setting string
	unit, err := c.Open(ctx, claim, args, &setting)
	switch {
	case err == nil && setting != Async:
		return unit, nil
	case err == nil:
		err = ErrNotDurable
	case errors.Is(err, sql.ErrNoRows):
		return nil, err
	}
	return nil, errors.Join(err, c.End(ctx))
}
