package roles

import (
	"context"
	"database/sql"
	_ "embed" // for the schema
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// SQLBooks creates the tables of bank and ledger in any database other than PostgreSQL. Each statement
// ends with a semicolon and a line break.
//
//go:embed sql/books.sql
var SQLBooks string

// sqlStore is a store on database/sql.
type sqlStore struct {
	*sqloutbox.Outbox

	db      *sql.DB
	dialect outbox.Dialect
}

// errNoOpener is returned by a program that has no drivers of database/sql.
var errNoOpener = errors.New("this program has PostgreSQL only: use that of internal/proof/sqltest")

// maxConns is how many connections a process may have.
const maxConns = 12

func (p *process) openSQL() (*sqlStore, error) {
	if p.extras.Open == nil {
		return nil, errNoOpener
	}
	db, err := p.extras.Open(p.Store, p.Database, p.connections.dial)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	dialect := outbox.Dialect(p.Store)
	ob, err := sqloutbox.New(db, dialect, sqloutbox.Config{Logger: p.log})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqlStore{ob, db, dialect}, nil
}

func (s *sqlStore) close() { _ = s.db.Close() }

func (s *sqlStore) inTx(ctx context.Context, work func(ctx context.Context) error) error {
	return s.InTx(ctx, func(ctx context.Context, _ *sql.Tx) error { return work(ctx) })
}

// rolledBack is true if COMMIT was never sent.
func (s *sqlStore) rolledBack(err error) bool { return errors.Is(err, sql.ErrTxDone) }

// enqueuePlainly executes the statement of docs/any-language.md. Its keys have one event each, so their
// order needs no lock.
func (s *sqlStore) enqueuePlainly(ctx context.Context, m outbox.Message, headers string) error {
	var occurredAt any
	if m.Type == KindTextTime {
		occurredAt = "yesterday"
	}
	return exec(ctx, []any{
		`INSERT INTO leat_outbox (shard, id, topic, msg_key, type, payload, headers, occurred_at, created_at)
		VALUES (0, ?, ?, ?, ?, ?, ?, ?, ?)`,
		[]byte(m.ID), []byte(m.Topic), []byte(m.Key), []byte(m.Type), m.Payload, []byte(headers), occurredAt, time.Now().UnixMicro(),
	})
}

// exec executes statements with their parameters in the transaction of ctx.
func exec(ctx context.Context, statements ...[]any) error {
	for _, st := range statements {
		if _, err := sqlinbox.Tx(ctx).ExecContext(ctx, st[0].(string), st[1:]...); err != nil { //nolint:forcetypeassert // ours
			return err
		}
	}
	return nil
}

// lock locks the accounts of e in a table, always in the same order.
func (s *sqlStore) lock(ctx context.Context, table string, e event) error {
	query := "SELECT name FROM " + table + " WHERE name IN (?, ?) ORDER BY name"
	if s.dialect != outbox.SQLite { // SQLite locked everything when the transaction began
		query += " FOR UPDATE"
	}
	rows, err := sqlinbox.Tx(ctx).QueryContext(ctx, query, e.From, e.To)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		continue
	}
	return rows.Err()
}

func (s *sqlStore) transfer(ctx context.Context, e event) (version int64, err error) {
	if e.opensAccount() {
		ignore := "INSERT IGNORE"
		if s.dialect == outbox.SQLite {
			ignore = "INSERT OR IGNORE"
		}
		if err := exec(ctx, []any{ignore + " INTO accounts (name, balance, opening, version) VALUES (?, 0, 0, 0)", e.From}); err != nil {
			return 0, err
		}
	}
	if err := s.lock(ctx, "accounts", e); err != nil {
		return 0, err
	}
	err = exec(ctx,
		[]any{"UPDATE accounts SET balance = balance + ? WHERE name = ?", e.Amount, e.To},
		[]any{"UPDATE accounts SET balance = balance - ?, version = version + 1 WHERE name = ?", e.Amount, e.From})
	if err != nil {
		return 0, err
	}
	err = sqlinbox.Tx(ctx).QueryRowContext(ctx, "SELECT version FROM accounts WHERE name = ?", e.From).Scan(&version)
	if err != nil {
		return 0, err
	}
	return version, exec(ctx, []any{
		"INSERT INTO transfers (id, account, version, amount, to_account) VALUES (?, ?, ?, ?, ?)", e.ID, e.From, version, e.Amount, e.To,
	})
}

func (s *sqlStore) book(ctx context.Context, e event, child string) error {
	if err := s.lock(ctx, "balances", e); err != nil {
		return err
	}
	return exec(ctx,
		[]any{"UPDATE balances SET balance = balance + ? WHERE name = ?", e.Amount, e.To},
		[]any{"UPDATE balances SET balance = balance - ? WHERE name = ?", e.Amount, e.From},
		[]any{
			"INSERT INTO effects (consumer, id, account, amount, to_account, child) VALUES (?, ?, ?, ?, ?, ?)",
			Ledger, e.ID, e.From, e.Amount, e.To, child,
		})
}

func (s *sqlStore) inbox(hooks ...outbox.Hook) (markedInbox, error) {
	return sqlinbox.New(s.db, s.dialect, Ledger, sqlinbox.Config{Config: ledgerInbox(hooks...)})
}

func (s *sqlStore) forgets() (func(ctx context.Context) error, error) {
	m, err := sqlinbox.NewMaintenance(s.db, s.dialect, sqlinbox.Config{}, sqlinbox.MaintenanceConfig{Retention: RememberFor})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := m.RunOnce(ctx)
		return err
	}, nil
}

func (s *sqlStore) source() (driver.Source, error) { return s.Source(sqloutbox.SourceConfig{}) }

func (s *sqlStore) maintenance() (func(ctx context.Context) error, error) {
	m, err := sqloutbox.NewMaintenance(s.Outbox, sqloutbox.MaintenanceConfig{Retention: KeepFor})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := m.RunOnce(ctx)
		return err
	}, nil
}

// notify does nothing: relays poll.
func (s *sqlStore) notify(context.Context) {}

func (s *sqlStore) page(ctx context.Context) (messages []outbox.Message, last int64, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT seq, id, topic, msg_key, payload FROM leat_outbox
		WHERE shard >= 0 AND seq > (SELECT last FROM id_cursor) AND LENGTH(payload) < ? ORDER BY seq LIMIT 500`, MaxMessageBytes)
	if err != nil {
		return nil, 0, fmt.Errorf("read a page: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var m outbox.Message
		if err := rows.Scan(&last, &m.ID, &m.Topic, &m.Key, &m.Payload); err != nil {
			return nil, 0, err
		}
		messages = append(messages, m)
	}
	return messages, last, rows.Err()
}

func (s *sqlStore) moveCursor(ctx context.Context, last int64) error {
	if _, err := s.db.ExecContext(ctx, "UPDATE id_cursor SET last = ?", last); err != nil {
		return fmt.Errorf("move the cursor: %w", err)
	}
	return nil
}
