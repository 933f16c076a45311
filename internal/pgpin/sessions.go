package pgpin

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Sessions lends sessions of the application, as the application left them: those of a pgx
// pool (Of) or of database/sql (OfSQL).
type Sessions interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults

	// Use lends use a session that is not in a transaction.
	Use(ctx context.Context, use func(conn *pgx.Conn) error) error
}

// PoolOf returns the pool that Of or OfSQL was given: two Sessions of one pool have the same.
func PoolOf(s Sessions) any {
	switch s := s.(type) {
	case pgxSessions:
		return s.Pool
	case *SQL:
		return s.db
	default:
		return s
	}
}

// Of returns the sessions of a pgx pool.
func Of(pool *pgxpool.Pool) Sessions { return pgxSessions{pool} }

type pgxSessions struct{ *pgxpool.Pool }

// Use implements Sessions.
func (s pgxSessions) Use(ctx context.Context, use func(conn *pgx.Conn) error) error {
	return s.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return use(c.Conn()) })
}
