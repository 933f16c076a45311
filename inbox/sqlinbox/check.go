package sqlinbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// facts is what an inbox has to know of its database.
type facts struct {
	// fence is set if a commit can be seen before it is durable.
	fence bool
}

// checkEvery is how long facts are believed. Those of SQLite are believed for good: they
// are settings of the connections, and to look at them again would wait for the writer.
const checkEvery = time.Minute

// checked are the facts as they were found last.
type checked struct {
	turn  chan struct{} // of one: who looks; the others wait for no longer than they may
	facts facts
	until time.Time // when to look again
	good  bool      // never look again
}

// check returns the facts, or why the database cannot hold the inbox.
func (t *tables) check(ctx context.Context) (facts, error) {
	select {
	case t.checked.turn <- struct{}{}:
		defer func() { <-t.checked.turn }()
	case <-ctx.Done():
		return facts{}, context.Cause(ctx)
	}
	if t.checked.good || time.Now().Before(t.checked.until) {
		return t.checked.facts, nil
	}
	look := t.checkServer
	if t.dialect.OneWriter {
		look = t.checkSQLite
	}
	found, err := look(ctx)
	if err == nil {
		err = t.requireSchema(ctx)
	}
	if err == nil {
		err = t.checkTables(ctx)
	}
	if err != nil {
		return facts{}, err
	}
	t.checked.facts, t.checked.until, t.checked.good = found, time.Now().Add(checkEvery), t.dialect.OneWriter
	return found, nil
}

// checkTables refuses tables without their rows to lock, or without transactions.
func (t *tables) checkTables(ctx context.Context) error {
	var rows int64
	err := t.db.QueryRowContext(ctx, t.sql["locks_count"]).Scan(&rows)
	if err != nil {
		return t.describe(err)
	}
	if want := t.buckets() + t.keyBuckets(); rows != want {
		return fmt.Errorf("%w: %s_locks has %d rows, not %d", outbox.ErrNotMigrated, t.name, rows, want)
	}
	if t.dialect.OneWriter {
		return nil
	}
	return each(ctx, t.db, func(scan func(...any) error) error {
		var name, engine string
		if err := scan(&name, &engine); err != nil {
			return err
		}
		return fmt.Errorf("%w: table %s is %s, and must be InnoDB", ErrUnsupported, name, engine)
	}, `SELECT table_name, COALESCE(engine, 'nothing') FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name IN (?, ?) AND COALESCE(engine, '') <> 'InnoDB'`, t.name, t.name+"_locks")
}

// checkSQLite looks at the settings of a connection, which are those of all of the pool.
func (t *tables) checkSQLite(ctx context.Context) (facts, error) {
	for _, p := range []struct {
		pragma string
		bad    func(value string) bool
		err    error
		advice string
	}{
		{"synchronous", func(v string) bool { return v == "0" || v == "1" }, ErrNotDurable, "must be FULL"},
		{"journal_mode", func(v string) bool { return v == "off" || v == "memory" }, ErrUnsupported, "must be WAL, or one that keeps a file"},
		{"read_uncommitted", func(v string) bool { return v == "1" }, ErrUnsupported, "must be off"},
		{"busy_timeout", func(v string) bool { return v == "0" }, ErrUnsupported, "must not be 0, since deliveries wait for each other: add _pragma=busy_timeout(10000) to the DSN"},
		{"query_only", func(v string) bool { return v == "1" }, ErrUnsupported, "must be off"},
	} {
		var value string
		if err := t.db.QueryRowContext(ctx, "PRAGMA "+p.pragma).Scan(&value); err != nil {
			return facts{}, t.describe(err)
		}
		if p.bad(value) {
			return facts{}, fmt.Errorf("%w: PRAGMA %s is %s: %s", p.err, p.pragma, value, p.advice)
		}
	}
	return facts{}, t.checkImmediate(ctx)
}

// checkImmediate refuses transactions that do not lock as they begin: one that reads first,
// and writes after another has written, would fail at once. A checkpoint tells: it is
// refused on a connection that has the lock for writing.
func (t *tables) checkImmediate(ctx context.Context) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return t.describe(err)
	}
	defer func() { _ = tx.Rollback() }()
	var busy, log, done int
	err = tx.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &done)
	switch {
	case sqldialect.Number(err) == sqldialect.SQLiteLocked:
		return nil
	case err != nil:
		return t.describe(err)
	}
	return fmt.Errorf("%w: transactions must lock as they begin: add _txlock=immediate to the DSN", ErrUnsupported)
}

// errTooOld is why a server is refused.
var errTooOld = errors.New("it is older than MySQL 8.0.1 and MariaDB 10.6, which know SKIP LOCKED")
