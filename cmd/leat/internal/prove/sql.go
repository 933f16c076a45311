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
	open func(w *wires) (*sql.DB, error)
}

// pool returns a pool whose number of connections is bounded by most.
func (p *sqlPlace) pool(w *wires, most int) (*sql.DB, error) {
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
	t     *trial
	place *sqlPlace
	conn  *sql.Conn
	cut   func() // cuts the connection on this side
	end   func() // closes it
}

// session opens a connection that lasts for the probe.
func (p *sqlPlace) session(t *trial) sqlSession {
	var mine wires
	db, err := p.pool(&mine, 1)
	fail.If(err)
	cut := func() { mine.cutAll(true) }
	end := func() {
		cut()
		_ = db.Close()
	}
	t.later(end)
	conn, err := db.Conn(t.ctx)
	fail.If(refused(err))
	t.later(func() { _ = conn.Close() })
	return sqlSession{t, p, conn, cut, end}
}

// attempt runs a statement, and returns the number of its rows.
func (s sqlSession) attempt(sql string, args ...any) (int64, error) {
	result, err := s.conn.ExecContext(s.t.ctx, s.place.sql(sql), args...)
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
func (s sqlSession) start(sql string, args ...any) <-chan ended {
	return s.t.start(func() (int64, error) { return s.attempt(sql, args...) })
}

// look returns the single value of a query. value does the same, and ends the probe if there is none.
func look[T any](s sqlSession, sql string, args ...any) (value T, err error) {
	err = s.conn.QueryRowContext(s.t.ctx, s.place.sql(sql), args...).Scan(&value)
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
	cfg.Logger, cfg.BusyDelay = slog.New(slog.DiscardHandler), between
	return sqlinbox.New(db, p.dialect, consumerName, cfg)
}

// trialPool returns a pool for a probe.
func (p *sqlPlace) trialPool(t *trial) *sql.DB {
	var mine wires
	db, err := p.pool(&mine, poolSize)
	fail.If(err)
	t.later(func() {
		mine.cutAll(true)
		_ = db.Close()
	})
	return db
}

// claimOnce claims the same ids in several sessions at the same time.
func (p *sqlPlace) claimOnce(t *trial) {
	db := p.trialPool(t)
	s := p.session(t)
	s.do("CREATE TABLE {s}_claimed (number " + p.number() + ", id VARCHAR(40) NOT NULL)")
	in, err := p.inbox(db, "claims")
	fail.If(err)
	fail.If(said("Migrate", in.Migrate(t.ctx)))
	claimOnce(t, func(msg *message.Message) (inbox.Outcome, error) {
		return in.Process(t.ctx, msg, func(ctx context.Context) error {
			_, err := sqlinbox.Tx(ctx).ExecContext(ctx, p.sql("INSERT INTO {s}_claimed (id) VALUES (?)"), msg.UUID)
			return err
		})
	}, func() (rows, ids int) {
		return value[int](s, "SELECT COUNT(*) FROM {s}_claimed"), value[int](s, "SELECT COUNT(DISTINCT id) FROM {s}_claimed")
	})
}

// leatCheck runs leat's own checks of the database, and sends one message.
func (p *sqlPlace) leatCheck(t *trial) {
	ob, err := p.outbox(p.trialPool(t), "checked")
	fail.If(err)
	fail.If(said("Migrate", ob.Migrate(t.ctx)))
	source, err := ob.Source(sqloutbox.SourceConfig{})
	fail.If(err)
	leatCheck(t, source, func(m outbox.Message) error {
		return ob.InTx(t.ctx, func(ctx context.Context, tx *sql.Tx) error { return ob.Enqueue(ctx, tx, m) })
	})
}

// sqlShop is a shop in the scratch place. The connections to a file of SQLite cannot be cut.
type sqlShop struct {
	*sqlPlace

	ob    *sqloutbox.Outbox
	in    *sqlinbox.Inbox
	db    *sql.DB
	began time.Time
	wires wires
}

// shop implements Server.
func (p *sqlPlace) shop(ctx context.Context) (shop, error) {
	s := &sqlShop{sqlPlace: p, began: time.Now()}
	var err error
	if s.db, err = p.pool(&s.wires, poolSize); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		s.end()
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
	for n := range keys {
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

// produce implements shop. It draws the number after enqueueing the message, since leat must order the key.
func (s *sqlShop) produce(ctx context.Context, m outbox.Message, hold func(version int64) bool) settled {
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
		return settled{history.Committed, nil}
	case errors.Is(err, outbox.ErrCommitUnknown):
		return settled{history.Unknown, err}
	case errors.Is(err, errRolledBack):
		return settled{history.Aborted, nil}
	default:
		return settled{history.Aborted, err}
	}
}

// source implements shop.
func (s *sqlShop) source(_ context.Context, w *wires) (driver.Source, func(), error) {
	db, err := s.pool(w, poolSize)
	if err != nil {
		return nil, nil, err
	}
	end := func() {
		w.cutAll(true)
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

// consume implements shop.
func (s *sqlShop) consume(ctx context.Context, msg *message.Message) (inbox.Outcome, error) {
	return s.in.Process(ctx, msg, func(ctx context.Context) error {
		_, err := sqlinbox.Tx(ctx).ExecContext(ctx, s.sql("INSERT INTO {s}_effects (id, name) VALUES (?, ?)"), msg.UUID, msg.Metadata.Get("key"))
		return err
	})
}

// forget closes idle connections: some were cut, which the pool has not noticed.
func (s *sqlShop) forget() {
	s.db.SetMaxIdleConns(-1)
	s.db.SetMaxIdleConns(poolSize)
}

// truth implements shop. It reads in a transaction that has written: a splitter does not send it to a
// replica.
func (s *sqlShop) truth(ctx context.Context) (all truth, err error) {
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
		into *[]row
		of   func(r *row) *int64
	}{
		{"SELECT id, name, version FROM {s}_ledger", &all.ledger, func(r *row) *int64 { return &r.version }},
		{"SELECT id, name, number FROM {s}_effects", &all.effects, func(r *row) *int64 { return &r.number }},
	} {
		rows, err := tx.QueryContext(ctx, s.sql(table.sql))
		if err != nil {
			return all, err
		}
		for rows.Next() {
			var r row
			if err := rows.Scan(&r.id, &r.key, table.of(&r)); err != nil {
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

// waiting implements shop. It returns messages that no relay has read yet, and held ones; if a relay has
// never begun, it returns all.
func (s *sqlShop) waiting(ctx context.Context, ids []string) (waiting []string, err error) {
	s.forget()
	for _, id := range ids {
		trace, err := s.ob.Admin().Trace(ctx, admin.TraceQuery{ID: id, Since: s.began.Add(-staleAfter)})
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

// cutOne implements shop.
func (s *sqlShop) cutOne() bool { return s.wires.cutOne() }

// end implements shop.
func (s *sqlShop) end() {
	s.wires.cutAll(true)
	_ = s.db.Close()
}
