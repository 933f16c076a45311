package sqlstore

import (
	"context"

	"github.com/leat-go/leat/internal/sqldialect"
)

// checkFile looks at the settings of a connection to SQLite, which are those of all of the
// pool.
func (s *Store) checkFile(ctx context.Context, n Needs) error {
	for _, p := range []struct {
		pragma, rule string
		bad          []string
		durability   bool
	}{
		{"journal_mode", "must be wal, or one that survives a crash, of a file: use _pragma=journal_mode(WAL)", []string{"memory", "off"}, false},
		{"synchronous", "must be FULL: commits would be answered before they are durable", []string{"0", "1"}, true},
		{"busy_timeout", "must not be 0: writers wait for each other, use _pragma=busy_timeout(10000)", []string{"0"}, false},
		{"read_uncommitted", "must be off", []string{"1"}, false},
		{"query_only", "must be off", []string{"1"}, false},
	} {
		var value string
		if err := s.DB.QueryRowContext(ctx, "PRAGMA "+p.pragma).Scan(&value); err != nil {
			return err
		}
		for _, bad := range p.bad {
			if value == bad && (!p.durability || !n.AsyncCommit) {
				return &SetupError{What: p.pragma, Value: value, Rule: p.rule, Durability: p.durability}
			}
		}
	}
	return s.checkImmediate(ctx, n.Probe)
}

// checkImmediate refuses transactions that do not lock as they begin: one that reads first,
// and writes after another has written, would fail at once. A checkpoint tells: it is
// refused on a connection that is in a transaction already, whoever else writes.
func (s *Store) checkImmediate(ctx context.Context, probe string) error {
	tx, err := s.DB.BeginTx(ctx, nil)
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
