package chaos

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// prepare prepares a foreign transaction, on a connection that it then closes.
func (s *sqlStore) prepare(ctx context.Context) (end func() error, err error) {
	conn, err := s.books.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer discard(conn)
	for _, statement := range []string{"XA START 'foreign'", "INSERT INTO foreign_rows VALUES (2)", "XA END 'foreign'", "XA PREPARE 'foreign'"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			discard(conn)
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), s.endPrepared(ctx))
		}
	}
	return func() error { return s.endPrepared(ctx) }, nil
}

// discard closes a connection that must not return to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// endPrepared ends the prepared transaction, if there is one. It outlives its connection and the server's
// crashes.
func (s *sqlStore) endPrepared(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for {
		_, err := s.books.ExecContext(ctx, "XA ROLLBACK 'foreign'")
		if err == nil {
			return nil
		}
		left, lookErr := s.prepared(ctx)
		if lookErr == nil && left == 0 {
			return nil
		}
		if !wait.Full(ctx, time.Second) {
			return fmt.Errorf("end the prepared transaction: %w", errors.Join(err, lookErr))
		}
	}
}

// prepared counts transactions that are prepared.
func (s *sqlStore) prepared(ctx context.Context) (n int, err error) {
	rows, err := s.books.QueryContext(ctx, "XA RECOVER")
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// terminate kills a session of a process. Each process has its own user.
func (s *sqlStore) terminate(ctx context.Context, process string, inTransaction bool) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	query := "SELECT id FROM information_schema.processlist WHERE user = ?"
	if inTransaction {
		query += " AND id IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx)"
	}
	for {
		var id int64
		err := s.books.QueryRowContext(ctx, query+" ORDER BY RAND() LIMIT 1", process).Scan(&id)
		if err == nil {
			_, err = s.books.ExecContext(ctx, fmt.Sprintf("KILL %d", id))
			return err == nil
		}
		if !errors.Is(err, sql.ErrNoRows) || !wait.Full(ctx, 5*time.Millisecond) {
			return false
		}
	}
}

func (s *sqlStore) databaseOf(role string) *sql.DB {
	if databaseOf(role) == bankDatabase {
		return s.books
	}
	return s.effects
}

func (s *sqlStore) pending(ctx context.Context, role string) int64 {
	if !roles.IsRelay(role) {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	n, err := s.unsettled(s.databaseOf(role))(ctx)
	if err != nil { // an unknown number does not count
		return 0
	}
	return min(n, 100)
}

// unsettled counts the records that an outbox must send, for the first time or again.
func (s *sqlStore) unsettled(db *sql.DB) func(ctx context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		ob, err := s.outbox(db)
		if err != nil {
			return 0, err
		}
		stats, err := ob.Admin().Stats(ctx)
		if err != nil {
			return 0, err
		}
		if len(stats.Groups) == 0 {
			return stats.LastSeq, nil
		}
		for _, g := range stats.Groups {
			n += g.Slots[0].Backlog + int64(g.Retrying)
		}
		return n, nil
	}
}

func (s *sqlStore) outbox(db *sql.DB) (*sqloutbox.Outbox, error) {
	return sqloutbox.New(db, outbox.Dialect(s.options.Store), sqloutbox.Config{})
}

func (s *sqlStore) counted(ctx context.Context) (enqueued, effects int64) {
	last := func(db *sql.DB, query string) int64 {
		var n sql.NullInt64
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return -1
		}
		return n.Int64
	}
	return last(s.books, "SELECT MAX(seq) FROM leat_outbox"), last(s.effects, "SELECT MAX(no) FROM effects")
}

func (s *sqlStore) leftovers() []leftover {
	all := []leftover{{"records of the ledger's outbox", s.unsettled(s.effects)}}
	if s.options.Sabotage != roles.IDCursor {
		all = append(all, leftover{"records of the bank's outbox", s.unsettled(s.books)})
	}
	if !s.isFile() {
		all = append(all, leftover{"transactions of the bank", func(ctx context.Context) (n int64, err error) {
			return n, s.books.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.innodb_trx
				JOIN information_schema.processlist ON id = trx_mysql_thread_id WHERE user LIKE 'bank-%'`).Scan(&n)
		}})
	}
	return all
}

func (s *sqlStore) dropParked(ctx context.Context) error {
	ob, err := s.outbox(s.books)
	if err != nil {
		return err
	}
	_, err = ob.Admin().Drop(ctx, tooLarge())
	return err
}
