package sqloutbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Errors of what trying again cannot mend and that could lose messages.
var (
	errSetup    = errors.New("leat: the database is not set up for an outbox")
	errWentBack = errors.New("leat: the log has gone back: the group has read numbers that it has not given out")
)

// minConnections is how many connections a pool must allow: those of a relay, and one
// for everybody else.
const minConnections = 4

// Check implements driver.Source. It refuses a missing or too old schema, another database
// than the dialect says, one that commits before it is durable (Config.AllowAsyncCommit) or
// that cannot be written, a pool of fewer than four connections, a position ahead of the
// log, and a new group that nobody has told where it starts. On MySQL and MariaDB also
// tables that are not InnoDB's, auto_increment_increment other than 1, a binary log of
// statements, lock rows that are missing, and a max_allowed_packet too small for
// Config.MaxPayloadBytes; on SQLite a
// database in memory and transactions that do not lock as they begin.
func (s *Source) Check(ctx context.Context) error {
	o := s.ob
	if n := o.db.Stats().MaxOpenConnections; n > 0 && n < minConnections {
		return s.unusable(setup("SetMaxOpenConns", n, fmt.Sprintf("must be 0 or at least %d", minConnections)))
	}
	if err := o.requireSchema(ctx); err != nil {
		return s.unusable(err)
	}
	check := o.checkServer
	if o.dialect.OneWriter {
		check = o.checkFile
	}
	if err := check(ctx); err != nil {
		return s.unusable(err)
	}
	return s.unusable(o.look(ctx, func(q querier) error { return s.checkPosition(ctx, q) }))
}

// checkPosition looks at what is stored of the group.
func (s *Source) checkPosition(ctx context.Context, q querier) error {
	g, err := s.ob.group(ctx, q, "group", s.cfg.Group)
	switch {
	case errors.Is(err, sql.ErrNoRows) && !s.cfg.Start.stated:
		return errStartUnstated
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return s.ob.checkAhead(ctx, q, g.at)
}

// checkAhead refuses a position that is ahead of the log. The row that it ends with is
// there, or was deleted, since nothing above the floor is.
func (o *Outbox) checkAhead(ctx context.Context, q querier, at position) error {
	last, err := o.last(ctx, q)
	if err != nil {
		return err
	}
	floor, err := o.floor(ctx, q)
	if err == nil && at.last > max(last, floor) {
		err = fmt.Errorf("%w: %d of %d", errWentBack, at.last, max(last, floor))
	}
	return err
}

func setup(what string, value any, rule string) error {
	return fmt.Errorf("%w: %s = %v: %s", errSetup, what, value, rule)
}

// checkServer looks at the settings of MySQL or MariaDB.
func (o *Outbox) checkServer(ctx context.Context) error {
	var version string
	var increment, flush, packet, locks, foreign int64
	var readOnly, byStatement bool
	t := o.cfg.Table
	err := o.look(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, o.sql["server_facts"], t, t+"_locks", t+"_groups", t+"_held", t+"_delayed").
			Scan(&version, &increment, &flush, &readOnly, &packet, &byStatement, &locks, &foreign)
	})
	if err != nil {
		return err
	}
	needed := int64(2*max(o.cfg.MaxPayloadBytes, maxChunkBytes) + 1<<20)
	is := sqldialect.MySQL
	if strings.Contains(version, "MariaDB") {
		is = sqldialect.MariaDB
	}
	switch {
	case is != o.dialect.Name:
		return setup("dialect", o.dialect.Name, "the server is "+version)
	case strings.Contains(version, "TiDB"):
		return setup("VERSION()", version, "TiDB gives out numbers in blocks, so that their order is not that of the commits")
	case is == sqldialect.MySQL && older(version, 8, 0), is == sqldialect.MariaDB && older(version, 10, 6):
		return setup("VERSION()", version, "must be MySQL 8.0 or MariaDB 10.6, or later")
	case increment != 1:
		return setup("auto_increment_increment", increment, "must be 1: most numbers would be missing")
	case flush != 1 && !o.cfg.AllowAsyncCommit:
		return setup("innodb_flush_log_at_trx_commit", flush, "must be 1: messages would be published before they are durable (Config.AllowAsyncCommit)")
	case readOnly:
		return setup("read_only", readOnly, "the server must be one that can be written")
	case byStatement:
		return setup("binlog_format", "STATEMENT", "must be ROW or MIXED: InnoDB refuses what leat writes at READ COMMITTED")
	case packet < needed:
		return setup("max_allowed_packet", packet, fmt.Sprintf("must be at least %d for Config.MaxPayloadBytes", needed))
	case locks != buckets+1:
		return setup("rows of "+t+"_locks", locks, fmt.Sprintf("must be %d: migrate again", buckets+1))
	case foreign != 0:
		return setup("tables that are not of InnoDB", foreign, "must be 0")
	}
	return nil
}

// older reports whether a version such as "10.11.6-MariaDB" is below major.minor.
func older(version string, major, minor int) bool {
	var is [2]int
	_, _ = fmt.Sscanf(version, "%d.%d", &is[0], &is[1])
	return is[0] < major || is[0] == major && is[1] < minor
}

// Values of SQLite's PRAGMA synchronous.
const synchronousFull = 2

// checkFile looks at the settings of SQLite.
func (o *Outbox) checkFile(ctx context.Context) error {
	var mode string
	var synchronous int
	conn, err := o.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for pragma, into := range map[string]any{"journal_mode": &mode, "synchronous": &synchronous} {
		if err := conn.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(into); err != nil {
			return err
		}
	}
	switch {
	case mode == "memory" || mode == "off":
		return setup("journal_mode", mode, "must be wal or one that survives a crash, of a file: use _pragma=journal_mode(WAL)")
	case synchronous < synchronousFull && !o.cfg.AllowAsyncCommit:
		return setup("synchronous", synchronous, "must be FULL: messages would be published before they are durable (Config.AllowAsyncCommit)")
	}
	return o.checkImmediate(ctx, conn)
}

// checkImmediate refuses transactions that do not lock as they begin. A checkpoint tells:
// it is refused on a connection that is in a transaction already, whoever else writes.
func (o *Outbox) checkImmediate(ctx context.Context, conn *sql.Conn) error {
	var wait int
	if err := conn.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&wait); err != nil {
		return err
	}
	if wait == 0 {
		return setup("busy_timeout", wait, "must not be 0: writers wait for each other, use _pragma=busy_timeout(10000)")
	}
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var busy, log, done int
	err = tx.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &done)
	if err == nil {
		return setup("_txlock", "deferred", "must be immediate: a transaction that has read could not write")
	}
	if sqldialect.Number(err) != sqldialect.SQLiteLocked {
		return err
	}
	_, err = tx.ExecContext(ctx, o.sql["write_nothing"])
	if sqldialect.Number(err) == sqldialect.SQLiteReadOnly {
		return setup("the file", "read-only", "must be one that can be written")
	}
	return err
}

// unusable marks the errors that trying again cannot mend and that could lose messages if
// they were ignored.
func (s *Source) unusable(err error) error {
	for _, is := range []error{errSetup, errWentBack, errStartUnstated, errNoMeta, outbox.ErrNotMigrated} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
		}
	}
	return err
}
