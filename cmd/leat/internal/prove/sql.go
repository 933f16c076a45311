package prove

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// sqlPlace is a scratch place in a database behind database/sql. Its tables begin with its name.
type sqlPlace struct {
	dialect outbox.Dialect
	name    string
	// open opens the database. If it leads to a server, its connections are added to the wires.
	open func(w *prover.Wires) (*sql.DB, error)
}

// pool returns a pool whose number of connections is bounded by most.
func (p *sqlPlace) pool(w *prover.Wires, most int) (*sql.DB, error) {
	db, err := p.open(w)
	if err == nil {
		db.SetMaxOpenConns(most)
		db.SetMaxIdleConns(most)
	}
	return db, err
}

// sql replaces {s} by the name of the scratch place.
func (p *sqlPlace) sql(text string) string { return strings.ReplaceAll(text, "{s}", p.name) }

// number is the type of a generated primary key. Each table has a primary key, as leat's tables do: group
// replication and sql_require_primary_key require one.
func (p *sqlPlace) number() string {
	if p.dialect == outbox.SQLite {
		return "INTEGER PRIMARY KEY AUTOINCREMENT"
	}
	return "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY"
}

// sqlSession is a connection of a probe. Its methods end the probe if they fail.
type sqlSession struct {
	t     *prover.Trial
	place *sqlPlace
	conn  *sql.Conn
	cut   func() // cuts the connection on this side
	end   func() // closes it
}

// session opens a connection that lasts for the probe.
func (p *sqlPlace) session(t *prover.Trial) sqlSession {
	var mine prover.Wires
	db, err := p.pool(&mine, 1)
	fail.If(err)
	cut := func() { mine.CutAll(true) }
	end := func() {
		cut()
		_ = db.Close()
	}
	t.Later(end)
	conn, err := db.Conn(t.Context())
	fail.If(refused(err))
	t.Later(func() { _ = conn.Close() })
	return sqlSession{t, p, conn, cut, end}
}

// attempt runs a statement, and returns the number of its rows.
func (s sqlSession) attempt(sql string, args ...any) (int64, error) {
	result, err := s.conn.ExecContext(s.t.Context(), s.place.sql(sql), args...)
	if err != nil {
		return 0, refused(err)
	}
	return result.RowsAffected()
}

// do runs statements that take no arguments, and exec one, which returns the number of rows.
func (s sqlSession) do(statements ...string) {
	for _, sql := range statements {
		s.exec(sql)
	}
}

func (s sqlSession) exec(sql string, args ...any) int64 {
	n, err := s.attempt(sql, args...)
	fail.If(err)
	return n
}

// start runs a statement that may wait, and sends its result when it has ended.
func (s sqlSession) start(sql string, args ...any) <-chan prover.Ended {
	return s.t.Start(func() (int64, error) { return s.attempt(sql, args...) })
}

// look returns the single value of a query. value does the same, and ends the probe if there is none.
func look[T any](s sqlSession, sql string, args ...any) (value T, err error) {
	err = s.conn.QueryRowContext(s.t.Context(), s.place.sql(sql), args...).Scan(&value)
	return value, refused(err)
}

func value[T any](s sqlSession, sql string, args ...any) T {
	v, err := look[T](s, sql, args...)
	fail.If(err)
	return v
}

func (p *sqlPlace) outbox(db *sql.DB, table string) (*sqloutbox.Outbox, error) {
	return sqloutbox.New(db, p.dialect, sqloutbox.Config{Table: p.name + "_" + table, Logger: slog.New(slog.DiscardHandler)})
}

func (p *sqlPlace) inbox(db *sql.DB, table string) (*sqlinbox.Inbox, error) {
	cfg := sqlinbox.Config{Table: p.name + "_" + table}
	cfg.Logger, cfg.BusyDelay = slog.New(slog.DiscardHandler), prover.Between
	return sqlinbox.New(db, p.dialect, prover.Consumer, cfg)
}

// trialPool returns a pool for a probe.
func (p *sqlPlace) trialPool(t *prover.Trial) *sql.DB {
	var mine prover.Wires
	db, err := p.pool(&mine, prover.PoolSize)
	fail.If(err)
	t.Later(func() {
		mine.CutAll(true)
		_ = db.Close()
	})
	return db
}

// claimOnce claims the same ids in several sessions at the same time.
func (p *sqlPlace) claimOnce(t *prover.Trial) {
	db := p.trialPool(t)
	s := p.session(t)
	s.do("CREATE TABLE {s}_claimed (number " + p.number() + ", id VARCHAR(40) NOT NULL)")
	in, err := p.inbox(db, "claims")
	fail.If(err)
	fail.If(prover.Said("Migrate", in.Migrate(t.Context())))
	prover.ClaimOnce(t, func(msg *message.Message) (inbox.Outcome, error) {
		outcome, err := in.Process(t.Context(), msg, func(ctx context.Context) error {
			_, err := sqlinbox.Tx(ctx).ExecContext(ctx, p.sql("INSERT INTO {s}_claimed (id) VALUES (?)"), msg.UUID)
			return err
		})
		return outcome, refused(err)
	}, func() (rows, ids int) {
		return value[int](s, "SELECT COUNT(*) FROM {s}_claimed"), value[int](s, "SELECT COUNT(DISTINCT id) FROM {s}_claimed")
	})
}

// leatCheck runs leat's own checks of the database, and sends one message.
func (p *sqlPlace) leatCheck(t *prover.Trial) {
	ob, err := p.outbox(p.trialPool(t), "checked")
	fail.If(err)
	fail.If(prover.Said("Migrate", ob.Migrate(t.Context())))
	source, err := ob.Source(sqloutbox.SourceConfig{})
	fail.If(err)
	prover.LeatCheck(t, source, func(m outbox.Message) error {
		return ob.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, m) })
	})
}

// sqlShop is a shop in the scratch place. The connections to a file of SQLite cannot be cut.
type sqlShop struct {
	*sqlPlace

	ob    *sqloutbox.Outbox
	in    *sqlinbox.Inbox
	db    *sql.DB
	began time.Time
	wires prover.Wires
}

// Shop implements prover.Server.
func (p *sqlPlace) Shop(ctx context.Context) (prover.Shop, error) {
	s := &sqlShop{sqlPlace: p, began: time.Now()}
	var err error
	if s.db, err = p.pool(&s.wires, prover.PoolSize); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		s.End()
		return nil, err
	}
	return s, nil
}

func (s *sqlShop) prepare(ctx context.Context) (err error) {
	if s.ob, err = s.outbox(s.db, "outbox"); err != nil {
		return err
	}
	if s.in, err = s.inbox(s.db, "inbox"); err != nil {
		return err
	}
	if err := errors.Join(s.ob.Migrate(ctx), s.in.Migrate(ctx)); err != nil {
		return refused(err)
	}
	statements := []string{
		"CREATE TABLE {s}_keys (name VARCHAR(40) NOT NULL PRIMARY KEY, version BIGINT NOT NULL)",
		"CREATE TABLE {s}_ledger (id VARCHAR(100) NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL, version BIGINT NOT NULL)",
		"CREATE TABLE {s}_effects (number " + s.number() + ", id VARCHAR(100) NOT NULL, name VARCHAR(40) NOT NULL)",
	}
	for n := range prover.Keys {
		statements = append(statements, fmt.Sprintf("INSERT INTO {s}_keys VALUES ('k%02d', 0)", n))
	}
	for _, sql := range statements {
		if _, err := s.db.ExecContext(ctx, s.sql(sql)); err != nil {
			return refused(err)
		}
	}
	return nil
}

var errRolledBack = errors.New("leat: rolled back")

// Produce implements prover.Shop. It draws the number after enqueueing the message, since leat must order the key.
func (s *sqlShop) Produce(ctx context.Context, m outbox.Message, hold func(version int64) bool) (history.Type, error) {
	err := s.ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.ob.Enqueue(ctx, tx, m); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.sql("UPDATE {s}_keys SET version = version + 1 WHERE name = ?"), m.Key); err != nil {
			return err
		}
		var version int64
		if err := tx.QueryRowContext(ctx, s.sql("SELECT version FROM {s}_keys WHERE name = ?"), m.Key).Scan(&version); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.sql("INSERT INTO {s}_ledger (id, name, version) VALUES (?, ?, ?)"), m.ID, m.Key, version); err != nil {
			return err
		}
		if !hold(version) {
			return errRolledBack
		}
		return nil
	})
	switch {
	case err == nil:
		return history.Committed, nil
	case errors.Is(err, outbox.ErrCommitUnknown):
		return history.Unknown, err
	case errors.Is(err, errRolledBack):
		return history.Aborted, nil
	default:
		return history.Aborted, err
	}
}

// Source implements prover.Shop.
func (s *sqlShop) Source(_ context.Context, w *prover.Wires) (driver.Source, func(), error) {
	db, err := s.pool(w, prover.PoolSize)
	if err != nil {
		return nil, nil, err
	}
	end := func() {
		w.CutAll(true)
		_ = db.Close()
	}
	ob, err := s.outbox(db, "outbox")
	if err != nil {
		end()
		return nil, nil, err
	}
	source, err := ob.Source(sqloutbox.SourceConfig{})
	return source, end, err
}

// Consume implements prover.Shop.
func (s *sqlShop) Consume(ctx context.Context, msg *message.Message) (inbox.Outcome, error) {
	return s.in.Process(ctx, msg, func(ctx context.Context) error {
		_, err := sqlinbox.Tx(ctx).ExecContext(ctx, s.sql("INSERT INTO {s}_effects (id, name) VALUES (?, ?)"), msg.UUID, msg.Metadata.Get("key"))
		return err
	})
}

// forget closes idle connections: some were cut, which the pool has not noticed.
func (s *sqlShop) forget() {
	s.db.SetMaxIdleConns(-1)
	s.db.SetMaxIdleConns(prover.PoolSize)
}

// Truth implements prover.Shop. It reads in a transaction that has written: a splitter does not send it to a
// replica.
func (s *sqlShop) Truth(ctx context.Context) (all prover.Truth, err error) {
	s.forget()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return all, err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, s.sql("UPDATE {s}_keys SET version = version WHERE name = 'k00'")); err != nil {
		return all, err
	}
	for _, table := range []struct {
		sql  string
		into *[]prover.Row
		of   func(r *prover.Row) *int64
	}{
		{"SELECT id, name, version FROM {s}_ledger", &all.Ledger, func(r *prover.Row) *int64 { return &r.Version }},
		{"SELECT id, name, number FROM {s}_effects", &all.Effects, func(r *prover.Row) *int64 { return &r.Number }},
	} {
		rows, err := tx.QueryContext(ctx, s.sql(table.sql))
		if err != nil {
			return all, err
		}
		for rows.Next() {
			var r prover.Row
			if err := rows.Scan(&r.ID, &r.Key, table.of(&r)); err != nil {
				return all, errors.Join(err, rows.Close()) //nolint:sqlclosecheck // one query at a time
			}
			*table.into = append(*table.into, r)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Waiting implements prover.Shop. It returns messages that no relay has read yet, and held ones; if a relay has
// never begun, it returns all.
func (s *sqlShop) Waiting(ctx context.Context, ids []string) (waiting []string, err error) {
	s.forget()
	for _, id := range ids {
		trace, err := s.ob.Admin().Trace(ctx, admin.TraceQuery{ID: id, Since: s.began.Add(-prover.StaleAfter)})
		if err != nil {
			return nil, err
		}
		for _, m := range trace.Messages {
			if len(m.Groups) == 0 || m.Groups[0].State == admin.TracePending || m.Groups[0].State == admin.TraceHeld {
				waiting = append(waiting, id)
			}
		}
	}
	return waiting, nil
}

// CutOne implements prover.Shop.
func (s *sqlShop) CutOne() bool { return s.wires.CutOne() }

// End implements prover.Shop.
func (s *sqlShop) End() {
	s.wires.CutAll(true)
	_ = s.db.Close()
}
