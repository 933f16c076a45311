// Package fullpgx is package fullpool for a pool of pgx.
package fullpgx

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/fullpool"
)

// closeTimeout bounds the close of a connection that has left the pool.
const closeTimeout = 5 * time.Second

// Pool is a pool and what is known of it.
type Pool struct {
	*fullpool.Pool

	pool *pgxpool.Pool
}

// Of returns the Pool of a pool.
func Of(pool *pgxpool.Pool, log *slog.Logger) Pool {
	most := int(pool.Config().MaxConns)
	size := func() fullpool.Size {
		return fullpool.Size{Taken: int(pool.Stat().AcquiredConns()), Most: most}
	}
	return Pool{fullpool.New("pgxpool.Config.MaxConns", size, func() int { return most }, log), pool}
}

// Taken is a connection that a delivery has.
type Taken struct {
	Conn *pgx.Conn

	watch  fullpool.Watch
	pooled *pgxpool.Conn // nil once the connection has left the pool
	grown  bool          // the connection has left the pool
}

// Take takes a connection into c.
func (p Pool) Take(ctx context.Context, c *Taken) error {
	err := p.Pool.Take(ctx, func(ctx context.Context) (err error) {
		c.pooled, err = p.pool.Acquire(ctx)
		return err
	})
	if err != nil {
		return err
	}
	c.Conn = c.pooled.Conn()
	p.Watch(&c.watch, c)
	return nil
}

// Grow implements fullpool.Grower: the connection leaves the pool, which makes another one.
func (c *Taken) Grow() bool {
	c.pooled.Hijack()
	c.pooled, c.grown = nil, true
	return true
}

// Release gives the connection back. It may be called twice.
func (c *Taken) Release() {
	_ = c.watch.End(c.give) // which is never an error
}

func (c *Taken) give() error {
	if c.pooled != nil {
		c.pooled.Release()
	}
	if c.grown {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = c.Conn.Close(ctx) // it is closed in any case
	}
	return nil
}
