package wmforward

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// settings of a relay's connections. Positions may be lost in a crash of the
// server (a repeat, never a loss), so they do not wait for the disk. Nothing but
// walks of indexes is wanted, whatever the statistics say: the plans are right
// for one row and for millions. Rows that row level security would hide are an error.
const settings = `SET jit = off;
	SET synchronous_commit = off;
	SET default_transaction_isolation = 'read committed';
	SET default_transaction_read_only = off;
	SET lock_timeout = '5s';
	SET statement_timeout = '60s';
	SET idle_in_transaction_session_timeout = '60s';
	SET work_mem = '32MB';
	SET enable_seqscan = off;
	SET enable_bitmapscan = off;
	SET max_parallel_workers_per_gather = 0;
	SET row_security = off`

// connect opens a connection for a relay beside the pool, as the pool would.
func (s *Source) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg := s.address.ConnConfig.Copy()
	if s.address.BeforeConnect != nil {
		if err := s.address.BeforeConnect(ctx, cfg); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if s.address.AfterConnect != nil {
		err = s.address.AfterConnect(ctx, conn)
	}
	if err == nil {
		_, err = conn.Exec(ctx, settings)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

func (n *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for _, c := range []*pgx.Conn{n.reader, n.writer} {
		if c == nil {
			continue
		}
		_ = c.Close(ctx) // best effort: the server ends the session all the same
		select {
		case <-c.PgConn().CleanupDone(): // a cancelled call is cleaned up in the background
		case <-ctx.Done():
		}
	}
}
