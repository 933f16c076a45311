package pgclaim

import (
	"context"
	"database/sql"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fullpool"
	"github.com/leat-go/leat/internal/fullpool/fullpgx"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// Pool is a Handle on a pgx pool.
type Pool struct {
	full      fullpgx.Pool
	pool      *pgxpool.Pool
	isolation pgx.TxIsoLevel
}

// FromPool returns the Handle of a pool.
func FromPool(pool *pgxpool.Pool, isolation pgx.TxIsoLevel, log *slog.Logger) (*Pool, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	return &Pool{full: fullpgx.Of(pool, log), pool: pool, isolation: isolation}, nil
}

// Take implements Handle.
func (p *Pool) Take(ctx context.Context) (Conn, error) {
	return p.TakePgx(ctx)
}

// TakePgx is Take.
func (p *Pool) TakePgx(ctx context.Context) (*PgxConn, error) {
	conn := &PgxConn{Isolation: p.isolation}
	if err := p.full.Take(ctx, &conn.Taken); err != nil {
		return nil, err
	}
	return conn, nil
}

// DB implements Handle.
func (p *Pool) DB() pgmigrate.DB {
	return pgmigrate.FromPool(p.pool)
}

// Full implements Handle.
func (p *Pool) Full() *fullpool.Pool {
	return p.full.Pool
}

// PgxConn is a Conn of pgx. The objects of a claim are part of it, so that a delivery allocates
// once.
type PgxConn struct {
	fullpgx.Taken

	Isolation pgx.TxIsoLevel

	batch   pgx.Batch           // BEGIN and the claim
	queries [2]*pgx.QueuedQuery // of batch
	unit    PgxUnit             // that a claim has opened
}

// On returns conn as a Conn; the caller keeps ownership.
func On(conn *pgx.Conn, isolation pgx.TxIsoLevel) *PgxConn {
	return &PgxConn{Taken: fullpgx.Taken{Conn: conn}, Isolation: isolation}
}

// Use implements Conn.
func (c *PgxConn) Use(use func(conn *pgx.Conn) error) error {
	return use(c.Conn)
}

// Open implements Conn.
func (c *PgxConn) Open(ctx context.Context, claim string, args []any, dest ...any) (driver.Unit, error) {
	return c.begin(ctx, claim, args, func(r pgx.BatchResults) error { return r.QueryRow().Scan(dest...) })
}

// Insert implements Conn.
func (c *PgxConn) Insert(ctx context.Context, claim string, args []any, want int64) (driver.Unit, error) {
	return c.begin(ctx, claim, args, func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		if err == nil && tag.RowsAffected() != want {
			err = sql.ErrNoRows
		}
		return err
	})
}

// begin sends BEGIN and the claim in one round trip, and reads the claim's result.
func (c *PgxConn) begin(
	ctx context.Context, claim string, args []any, read func(pgx.BatchResults) error,
) (driver.Unit, error) {
	c.batch = pgx.Batch{QueuedQueries: c.queries[:0]}
	c.batch.BeginTx(pgx.TxOptions{IsoLevel: c.Isolation})
	c.batch.Queue(claim, args...)

	results := c.Conn.SendBatch(ctx, &c.batch)
	if _, err := results.Exec(); err != nil {
		_ = results.Close() // the same error
		return nil, err
	}
	err := read(results)
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	c.unit = PgxUnit{PgxConn: c, Tx: results.Tx()}
	return &c.unit, nil
}

// End implements Conn, so that a pool can keep the connection; otherwise it closes it.
func (c *PgxConn) End(ctx context.Context) error {
	Rollback(ctx, c.Conn)
	return nil
}

// Rollback ends the transaction that conn is in, if it is in one.
func Rollback(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || !InTx(conn) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CleanUpTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, `rollback`) // there is another error to report
}

// InTx reports whether conn is in a transaction.
func InTx(conn *pgx.Conn) bool {
	return conn.PgConn().TxStatus() != 'I'
}

// Release implements Conn.
func (c *PgxConn) Release() error {
	c.Taken.Release()
	return nil
}
