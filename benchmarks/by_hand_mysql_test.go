package benchmarks

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// byHandOnMySQL are the tables of byHand and processedEvents as people write them for MySQL, and what
// transactions and handlers write beside them.
func byHandOnMySQL() []string {
	return []string{
		`CREATE TABLE by_hand (
			id bigint AUTO_INCREMENT PRIMARY KEY,
			aggregate_type varchar(255) NOT NULL,
			aggregate_id varchar(255) NOT NULL,
			payload json NOT NULL,
			created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
			sent_at timestamp(6) NULL,
			KEY by_hand_open (sent_at, created_at)
		)`,
		`CREATE TABLE processed_events (
			event_id char(36) NOT NULL PRIMARY KEY,
			processed_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
		)`,
		"CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, customer varchar(255) NOT NULL, body blob NOT NULL)",
		"CREATE TABLE effects (id bigint AUTO_INCREMENT PRIMARY KEY, message char(36) NOT NULL, body blob NOT NULL)",
		"CREATE TABLE counters (id int PRIMARY KEY, n bigint NOT NULL)",
	}
}

// mySQL is a database of MySQL with leat's outbox and inbox and the tables of byHandOnMySQL.
type mySQL struct {
	pool    *sql.DB
	version string
}

// onMySQL runs bench on a server that waits for the disk and writes its binary log, as it does by
// default.
func onMySQL(b *testing.B, bench func(b *testing.B, db *mySQL)) {
	b.Helper()
	b.Run("server=mysql", func(b *testing.B) {
		server := testenv.PrivateMySQL(b, map[string]string{"innodb-buffer-pool-size": "256M"})
		db := &mySQL{pool: openMySQL(b, server.URL, ""), version: server.Version}
		_, err := db.pool.ExecContext(b.Context(), "CREATE DATABASE benchmark")
		require.NoError(b, err)
		db.pool = openMySQL(b, server.URL, "benchmark")
		db.migrate(b)
		bench(b, db)
	})
}

// openMySQL opens a pool with a connection for each lane, and a round trip for each statement.
func openMySQL(b *testing.B, address, database string) *sql.DB {
	b.Helper()
	u, err := url.Parse(address)
	require.NoError(b, err)
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.User, cfg.DBName = "tcp", u.Host, u.User.Username(), database
	cfg.Passwd, _ = u.User.Password()
	cfg.InterpolateParams = true
	connector, err := mysql.NewConnector(cfg)
	require.NoError(b, err)
	pool := sql.OpenDB(connector)
	pool.SetMaxIdleConns(2 * producers)
	b.Cleanup(func() { require.NoError(b, pool.Close()) })
	return pool
}

func (db *mySQL) migrate(b *testing.B) {
	b.Helper()
	require.NoError(b, db.outbox(b).Migrate(b.Context()))
	require.NoError(b, db.inbox(b).Migrate(b.Context()))
	for _, statement := range byHandOnMySQL() {
		_, err := db.pool.ExecContext(b.Context(), statement)
		require.NoError(b, err)
	}
	for i := range counters {
		_, err := db.pool.ExecContext(b.Context(), "INSERT INTO counters VALUES (?, 0)", i)
		require.NoError(b, err)
	}
}

func (db *mySQL) outbox(b *testing.B) *sqloutbox.Outbox {
	b.Helper()
	ob, err := sqloutbox.New(db.pool, outbox.MySQL, sqloutbox.Config{})
	require.NoError(b, err)
	return ob
}

func (db *mySQL) inbox(b *testing.B) *sqlinbox.Inbox {
	b.Helper()
	in, err := sqlinbox.New(db.pool, outbox.MySQL, "benchmark", sqlinbox.Config{})
	require.NoError(b, err)
	return in
}

// logSettings says what the figures are measured on, in the log and beside the samples.
func (db *mySQL) logSettings(b *testing.B) {
	b.Helper()
	settings := map[string]string{}
	for _, name := range []string{"innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit", "log_bin", "sync_binlog"} {
		var value string
		require.NoError(b, db.pool.QueryRowContext(b.Context(), "SHOW VARIABLES LIKE '"+name+"'").Scan(new(string), &value))
		settings[name] = value
	}
	results.Uses(b, results.Server{Name: "MySQL", Version: db.version, Settings: settings})
	b.Logf("MySQL %s, %v", db.version, settings)
}

// inTx runs do in a transaction, as database/sql has it.
func (db *mySQL) inTx(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := db.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func inTxByHandOnMySQL(b *testing.B, db *mySQL, lanes, perTx int) {
	b.Helper()
	db.logSettings(b)
	order := func(ctx context.Context, tx *sql.Tx, messages []outbox.Message) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (customer, body) VALUES (?, ?)", messages[0].Key, messages[0].Payload)
		return err
	}
	ob := db.outbox(b)
	load := committing(b, lanes, perTx)
	leat := load("leat", func(ctx context.Context, messages []outbox.Message) error {
		return ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(order(ctx, tx, messages), ob.Enqueue(ctx, tx, messages...))
		})
	})
	hand := load("by-hand", func(ctx context.Context, messages []outbox.Message) error {
		return db.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(order(ctx, tx, messages), insertByHandOnMySQL(ctx, tx, messages))
		})
	})
	b.ResetTimer()
	compare.Rounds(b, scale(b).enqueue.rounds, only(), "tx/s", leat, hand)
}

// insertByHandOnMySQL is insertByHand. The payload is a text, since MySQL takes no JSON from bytes.
func insertByHandOnMySQL(ctx context.Context, tx *sql.Tx, messages []outbox.Message) error {
	for i := range messages {
		_, err := tx.ExecContext(ctx, "INSERT INTO by_hand (aggregate_type, aggregate_id, payload) VALUES (?, ?, ?)",
			messages[i].Topic, messages[i].Key, string(messages[i].Payload))
		if err != nil {
			return err
		}
	}
	return nil
}

func inboxByHandOnMySQL(b *testing.B, db *mySQL, lanes, sends int) {
	b.Helper()
	db.logSettings(b)
	ob := db.outbox(b)
	sending := func(send func(ctx context.Context, tx *sql.Tx, msg outbox.Message) error) func(context.Context, *sql.Tx, *message.Message) error {
		return func(ctx context.Context, tx *sql.Tx, msg *message.Message) error {
			if err := effectOnMySQL(ctx, tx, msg); err != nil || sends == 0 {
				return err
			}
			return send(ctx, tx, passedOn(msg))
		}
	}
	enqueue := func(ctx context.Context, tx *sql.Tx, msg outbox.Message) error { return ob.Enqueue(ctx, tx, msg) }
	insert := func(ctx context.Context, tx *sql.Tx, msg outbox.Message) error {
		return insertByHandOnMySQL(ctx, tx, []outbox.Message{msg})
	}
	handle := db.inbox(b).Handle(func(ctx context.Context, msg *message.Message) error {
		return sending(enqueue)(ctx, sqlinbox.Tx(ctx), msg)
	})
	bare := func(ctx context.Context, tx *sql.Tx, msg *message.Message) error {
		return sending(insert)(ctx, tx, msg)
	}
	inTx := func(do func(context.Context, *sql.Tx, *message.Message) error) func(*message.Message) error {
		return func(msg *message.Message) error {
			return db.inTx(msg.Context(), func(ctx context.Context, tx *sql.Tx) error { return do(ctx, tx, msg) })
		}
	}
	compareInboxes(b,
		delivering(b, lanes, "leat", untilFree(handle)),
		delivering(b, lanes, "by-hand", inTx(onceByHandOnMySQL(bare))),
		delivering(b, lanes, "bare", inTx(bare)))
	var effects, counted int
	require.NoError(b, db.pool.QueryRowContext(b.Context(), "SELECT count(*), (SELECT sum(n) FROM counters) FROM effects").Scan(&effects, &counted))
	require.Positive(b, effects)
	require.Equal(b, effects, counted)
}

// effectOnMySQL is effect.
func effectOnMySQL(ctx context.Context, tx *sql.Tx, msg *message.Message) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects (message, body) VALUES (?, ?)", msg.UUID, []byte(msg.Payload)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "UPDATE counters SET n = n + 1 WHERE id = ?", counterOf(msg))
	return err
}

// onceByHandOnMySQL is onceByHand.
func onceByHandOnMySQL(handle func(context.Context, *sql.Tx, *message.Message) error) func(context.Context, *sql.Tx, *message.Message) error {
	return func(ctx context.Context, tx *sql.Tx, msg *message.Message) error {
		result, err := tx.ExecContext(ctx, "INSERT IGNORE INTO processed_events (event_id) VALUES (?)", msg.UUID)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errRepeated)
		}
		return handle(ctx, tx, msg)
	}
}

// untilFree delivers again what shares a lock with another delivery.
func untilFree(handle func(*message.Message) error) func(*message.Message) error {
	return func(msg *message.Message) error {
		for {
			if err := handle(msg); !errors.Is(err, inbox.ErrBusy) {
				return err
			}
		}
	}
}
