package pglog

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Connect opens a connection beside a pool with the configuration pool, as the pool
// would, after change has changed the connection's.
func Connect(ctx context.Context, pool *pgxpool.Config, change func(cfg *pgx.ConnConfig)) (*pgx.Conn, error) {
	cfg := pool.ConnConfig.Copy()
	if pool.BeforeConnect != nil {
		if err := pool.BeforeConnect(ctx, cfg); err != nil {
			return nil, err
		}
	}
	change(cfg)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil || pool.AfterConnect == nil {
		return conn, err
	}
	if err := pool.AfterConnect(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// AsIs changes nothing. It is for Connect.
func AsIs(*pgx.ConnConfig) {}

// Close closes conn and waits until nothing of it is left, for a second at most.
func Close(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // best effort: the server ends the session all the same
	select {
	case <-conn.PgConn().CleanupDone(): // a cancelled call is cleaned up in the background
	case <-ctx.Done():
	}
}
