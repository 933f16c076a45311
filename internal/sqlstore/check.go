package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
)

// Needs is what a component requires of a database.
type Needs struct {
	// Schema is the oldest sufficient version of the schema.
	Schema int
	// Locks is how many rows the table _locks has, 0 if there is none.
	Locks int64
	// Tables are the tables that must be InnoDB's, by the ends of their names.
	Tables []string
	// Probe is the name of a statement that tries a write, and changes nothing.
	Probe string
	// RowLock is the name of a statement that locks a row, and skips it if another transaction holds
	// it. Empty if that is not tried.
	RowLock string

	// Numbers is set if numbers of rows must follow each other, OwnSessions if
	// transactions run with the settings of the pool's connections.
	Numbers, OwnSessions bool
	// Packet is the smallest max_allowed_packet.
	Packet int64
	// AsyncCommit is set if a COMMIT may be answered before it is durable.
	AsyncCommit bool
}

// SetupError is returned for a database that is not set up as a component requires.
type SetupError struct {
	What  string
	Value any
	Rule  string
	// Durability is set if commits can be lost.
	Durability bool
	// OfSession is set if the cause is a setting of the connection, or of the server that it leads to:
	// another connection of the pool may work.
	OfSession bool
}

// Error implements error.
func (e *SetupError) Error() string { return fmt.Sprintf("%s = %v: %s", e.What, e.Value, e.Rule) }

// Facts are the properties of its database that a component depends on.
type Facts struct {
	// Fence is set if a commit can be seen before it is durable. A commit of one's own then makes
	// durable everything that was seen before it, since the log of the database is sequential.
	Fence bool
}

// Check returns the facts, or why the database cannot be used: a *SetupError, an error about the
// schema, or an error that prevented the check.
func (s *Store) Check(ctx context.Context, n Needs) (facts Facts, err error) {
	if err := s.RequireSchema(ctx, n.Schema); err != nil {
		return facts, err
	}
	if s.Dialect.OneWriter {
		err = s.checkFile(ctx, n)
	} else {
		facts, err = s.checkServer(ctx, n)
		if err == nil && n.RowLock != "" {
			err = s.tryRowLock(ctx, s.SQL[n.RowLock])
		}
	}
	if err == nil {
		err = s.Look(ctx, func(q Querier) error { return s.checkTables(ctx, q, n) })
	}
	return facts, s.Describe(err)
}

// tryTimeout bounds the wait for the connections of the trial.
const tryTimeout = 5 * time.Second

// tryRowLock judges a server by its behavior, not by its name: two transactions must not get the same
// row if both of them lock it. If it cannot try, for example without the privilege, it refuses
// nothing.
func (s *Store) tryRowLock(ctx context.Context, statement string) error {
	trying, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	opts := s.Options(sql.LevelReadCommitted)
	err := onTx(trying, s.DB, opts, func(mine *sql.Tx) error {
		locked, err := Column[int64](trying, mine, statement)
		if err != nil || len(locked) == 0 { // another transaction has it
			return err
		}
		return onTx(trying, s.DB, opts, func(other *sql.Tx) error {
			again, err := Column[int64](trying, other, statement)
			if err == nil && len(again) > 0 {
				err = &SetupError{
					What: "FOR UPDATE SKIP LOCKED", Value: "a row that another transaction has locked",
					Rule: "must pass over locked rows, on which order and claims rest: this server only speaks MySQL's language",
				}
			}
			return err
		})
	})
	if trying.Err() != nil && ctx.Err() == nil || sqldialect.Number(err) != 0 {
		return nil
	}
	return err
}

// checkTables counts the rows of the table of locks, and refuses tables without transactions.
func (s *Store) checkTables(ctx context.Context, q Querier, n Needs) error {
	if n.Locks > 0 {
		var rows int64
		if err := q.QueryRowContext(ctx, s.SQL["locks_count"]).Scan(&rows); err != nil {
			return err
		}
		if rows != n.Locks {
			return fmt.Errorf("%w: %s_locks has %d rows, not %d: migrate again", s.notMigrated, s.Table, rows, n.Locks)
		}
	}
	if s.Dialect.OneWriter {
		return nil
	}
	names := make([]any, len(n.Tables))
	for i, suffix := range n.Tables {
		names[i] = s.Table + suffix
	}
	return Each(ctx, q, func(scan Scanner) error {
		var name, engine string
		if err := scan(&name, &engine); err != nil {
			return err
		}
		return &SetupError{What: "engine of table " + name, Value: engine, Rule: "must be InnoDB"}
	}, s.SQL.List("engines", len(names)), names...)
}
