// Package prove has the servers and destinations that leat prove tries: their probes, and a shop on each for
// the workload. Package prover runs them.
package prove

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/wait"
)

// postgres is a PostgreSQL database, or a server that speaks its protocol.
type postgres struct {
	cfg    *pgxpool.Config
	schema string
	wires  prover.Wires
}

// Postgres tries the database of the pool.
func Postgres(pool *pgxpool.Pool) prover.Server { return &postgres{cfg: pool.Config()} }

// About implements prover.Server.
func (p *postgres) About(ctx context.Context) string {
	about := "unknown"
	_ = p.use(ctx, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, "SELECT version()").Scan(&about) })
	return about
}

// connect opens a connection of its own.
func (p *postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg := p.cfg.ConnConfig.Copy()
	if err := p.before(ctx, cfg); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := p.cfg.AfterConnect(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// before adds the connection to the wires. Once connected, it does not dial again: pgx would send a cancel
// request when a context ends, and that ends some poolers for all of their clients.
func (p *postgres) before(ctx context.Context, cfg *pgx.ConnConfig) error {
	var connected atomic.Bool
	base := p.wires.Through(prover.Dial(cfg.DialFunc))
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, prover.ErrShut
		}
		return base(ctx, network, address)
	}
	after := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		connected.Store(true)
		if after == nil {
			return nil
		}
		return after(ctx, conn)
	}
	return p.cfg.BeforeConnect(ctx, cfg)
}

// use runs do on a connection of its own.
func (p *postgres) use(ctx context.Context, do func(conn *pgx.Conn) error) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close(ctx))
}

// newPool returns a pool whose connections are among the wires.
func (p *postgres) newPool(ctx context.Context, w *prover.Wires) (*pgxpool.Pool, error) {
	cfg := p.cfg.Copy()
	cfg.MaxConns = prover.PoolSize
	cfg.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
		c.DialFunc = pgconn.DialFunc(w.Through(prover.Dial(c.DialFunc)))
		return p.before(ctx, c)
	}
	return pgxpool.NewWithConfig(ctx, cfg)
}

// Prepare implements prover.Server.
func (p *postgres) Prepare(ctx context.Context) error {
	return p.use(ctx, func(conn *pgx.Conn) error {
		var now int64
		if err := conn.QueryRow(ctx, "SELECT extract(epoch FROM clock_timestamp())::bigint").Scan(&now); err != nil {
			return err
		}
		if err := p.sweep(ctx, conn, now); err != nil {
			return err
		}
		p.schema = fmt.Sprintf("%s%d_%s", prover.Prefix, now, prover.Unique())
		_, err := conn.Exec(ctx, "CREATE SCHEMA "+p.schema)
		if pgerr.Is(err, pgerr.InsufficientPrivilege) {
			return fmt.Errorf("a scratch schema is needed: GRANT CREATE ON DATABASE %s TO %s: %w", conn.Config().Database, conn.Config().User, err)
		}
		return err
	})
}

// sweep drops what killed runs have left behind. It ignores what it has no right to drop.
func (p *postgres) sweep(ctx context.Context, conn *pgx.Conn, now int64) error {
	rows, err := conn.Query(ctx, "SELECT nspname::text FROM pg_namespace WHERE nspname ~ '^"+prover.Prefix+"[0-9]+_[0-9a-f]+$'")
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		if prover.Stale(name, now) {
			_ = drop(ctx, conn, name) // may be another role's, or another run is sweeping
		}
	}
	return err
}

// drop drops a schema. It waits a little, several times, for sessions that the server has yet to end.
func drop(ctx context.Context, conn *pgx.Conn, schema string) error {
	if _, err := conn.Exec(ctx, "SET lock_timeout = '1s'"); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE")
	_, reset := conn.Exec(ctx, "RESET lock_timeout") // behind a pooler the session is used again
	return errors.Join(err, reset)
}

// Clean implements prover.Server.
func (p *postgres) Clean(ctx context.Context) error {
	p.wires.CutAll(false)
	if p.schema == "" {
		return nil
	}
	defer p.wires.CutAll(true)
	for {
		err := p.use(ctx, func(conn *pgx.Conn) error { return drop(ctx, conn, p.schema) })
		if err == nil || wait.For(ctx, 100*time.Millisecond) != nil {
			if err != nil {
				err = fmt.Errorf("schema %s is left behind: drop it, or let a run do it in an hour: %w", p.schema, err)
			}
			return err
		}
	}
}

// session is a connection of a probe. Its methods end the probe if they fail.
type session struct {
	t      *prover.Trial
	conn   *pgx.Conn
	schema string
}

// session opens a connection that lasts for the probe.
func (p *postgres) session(t *prover.Trial) session {
	conn, err := p.connect(t.Context())
	fail.If(err)
	s := session{t: t, conn: conn, schema: p.schema}
	t.Later(s.cut)
	return s
}

// sql replaces {s} by the scratch schema.
func (s session) sql(text string) string { return strings.ReplaceAll(text, "{s}", s.schema) }

// attempt runs a statement, and returns the number of its rows.
func (s session) attempt(sql string, args ...any) (int64, error) {
	tag, err := s.conn.Exec(s.t.Context(), s.sql(sql), args...)
	return tag.RowsAffected(), refused(err)
}

// do runs statements that take no arguments, and exec one, which returns the number of rows.
func (s session) do(statements ...string) {
	for _, sql := range statements {
		s.exec(sql)
	}
}

func (s session) exec(sql string, args ...any) int64 {
	n, err := s.attempt(sql, args...)
	fail.If(err)
	return n
}

// ask returns the one value of a query.
func ask[T any](s session, sql string, args ...any) (value T) {
	fail.If(refused(s.conn.QueryRow(s.t.Context(), s.sql(sql), args...).Scan(&value)))
	return value
}

// know is ask, but fails unless the primary answers: an answer of a standby would make other properties
// look broken.
func know[T any](s session, sql string, args ...any) (value T) {
	return ask[T](s, "SELECT * FROM ("+sql+") AS q WHERE "+pgerr.Primary, args...)
}

// start runs a statement that may wait, and sends its result when it has ended.
func (s session) start(sql string, args ...any) <-chan prover.Ended {
	return s.t.Start(func() (int64, error) { return s.attempt(sql, args...) })
}

// cut cuts the connection on this side.
func (s session) cut() { _ = s.conn.PgConn().Conn().Close() }

// refused marks err as an error returned by the server.
func refused(err error) error {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return prover.Refused(err, answer.Code == pgerr.InsufficientPrivilege)
	}
	if number := sqldialect.Number(err); number != 0 {
		return prover.Refused(err, slices.Contains(deniedNumbers, number))
	}
	return err
}
