package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/leat-go/leat/internal/sqldialect"
)

// pragma is a setting of SQLite, with the values to refuse.
type pragma struct {
	name, rule string
	bad        []string
	durability bool
	ofSession  bool // of the connection, and not of the file
}

// place are the pragmas of a database that is lost with its last connection, or that allows only
// one connection.
func place() []pragma {
	return []pragma{
		{"journal_mode", "must be wal, or one that survives a crash, of a file: use _pragma=journal_mode(WAL)", []string{"memory", "off"}, false, false},
		{"locking_mode", "must be normal: the first connection locks all others out", []string{"exclusive"}, false, false},
	}
}

// CheckPlace refuses, by a *SetupError, a SQLite database in memory, also with a shared cache, and
// an exclusive one: migrations would pass, and everything later would fail or wait.
func CheckPlace(ctx context.Context, db *sql.DB) error {
	return refuse(ctx, db, Needs{}, place()...)
}

// readsUncommitted matters if connections share a cache: one would read uncommitted changes of
// another.
func readsUncommitted() pragma {
	return pragma{"read_uncommitted", "must be off", []string{"1"}, false, true}
}

// checkFile checks the settings of one connection to SQLite. All connections of the pool have the
// same, unless the application has changed them.
func (s *Store) checkFile(ctx context.Context, n Needs) error {
	return s.use(ctx, func(conn *sql.Conn) error {
		err := refuse(ctx, conn, n, append(place(),
			pragma{"synchronous", "must be FULL: commits would be answered before they are durable", []string{"0", "1"}, true, true},
			pragma{"busy_timeout", "must not be 0: writers wait for each other, use _pragma=busy_timeout(10000)", []string{"0"}, false, true},
			readsUncommitted(),
			pragma{"query_only", "must be off", []string{"1"}, false, true},
		)...)
		if err != nil {
			return err
		}
		return s.checkImmediate(ctx, conn, n.Probe)
	})
}

// refuse returns a *SetupError if one of pragmas has a value that is refused.
func refuse(ctx context.Context, q Querier, n Needs, pragmas ...pragma) error {
	for _, p := range pragmas {
		var value string
		if err := q.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&value); err != nil {
			return err
		}
		if slices.Contains(p.bad, value) && (!p.durability || !n.AsyncCommit) {
			return &SetupError{What: p.name, Value: value, Rule: p.rule, Durability: p.durability, OfSession: p.ofSession}
		}
	}
	return nil
}

// checkImmediate refuses transactions that do not lock when they begin: one that reads first, and
// writes after another has written, would fail at once. A checkpoint shows it: it is refused on a
// connection that is in a transaction already, whichever other connection writes.
func (s *Store) checkImmediate(ctx context.Context, conn *sql.Conn, probe string) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var busy, log, done int
	err = tx.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &done)
	if err == nil {
		return &SetupError{What: "_txlock", Value: "deferred", Rule: "must be immediate: transactions must lock as they begin, add _txlock=immediate to the DSN"}
	}
	if sqldialect.Number(err) != sqldialect.SQLiteLocked {
		return err
	}
	_, err = tx.ExecContext(ctx, s.SQL[probe])
	if sqldialect.Number(err) == sqldialect.SQLiteReadOnly {
		return &SetupError{What: "the file", Value: "read-only", Rule: "must be one that can be written"}
	}
	return err
}
