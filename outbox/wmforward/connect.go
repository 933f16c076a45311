package wmforward

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pglog"
)

// settings of a relay's connections. A crash of the server may lose positions (which costs
// repeats, never a loss), so they do not wait for the disk. Only index scans are allowed,
// whatever the statistics are: these plans are right for one row and for millions. Plans are made
// once per connection, since planning costs more than a page of a few rows. Rows that row level
// security would hide are an error. Between two renewals a session is idle for a third of the
// lease, so timeouts that would end it are off.
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
	SET plan_cache_mode = force_generic_plan;
	SET row_security = off;
	SET idle_session_timeout = 0;
	SET bytea_output = 'hex';
	SET search_path = pg_catalog, pg_temp;
	SET array_nulls = on;
	SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'`

// connect opens a connection for a relay outside the pool, as the pool would.
func (s *Source) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pglog.Connect(ctx, s.address, pglog.AsIs)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, settings); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}
