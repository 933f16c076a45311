package benchmarks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkEnqueue measures what a transaction pays for its messages. It inserts
// an order, and then enqueues messages, or inserts the same bytes into a table
// without an index: in one multi-row statement (plain), or in the form that is
// fastest here, which is the one that Enqueue has (tuned). Queued is the way that
// the documentation recommends where it counts: order and messages in one batch. None
// is the transaction without messages.
func BenchmarkEnqueue(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, perTx := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("per_tx=%d", perTx), func(b *testing.B) { enqueue(b, db, perTx) })
		}
		if *scaleName == scaleQuick {
			return // it has time for the gates only
		}
		for _, perTx := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("database-sql/per_tx=%d", perTx), func(b *testing.B) { enqueueSQL(b, db, perTx) })
		}
	})
}

// insert writes messages in tx.
type insert = func(ctx context.Context, tx pgx.Tx, messages ...outbox.Message) error

func enqueue(b *testing.B, db *testenv.Database, perTx int) {
	b.Helper()
	size := scale(b).enqueue
	logSettings(b, db, nil)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	messages, err := load.Messages(load.Spec{
		Messages: size.transactions * perTx, Bytes: 512, Keys: min(10_000, size.transactions*perTx), Topic: "orders",
	})
	require.NoError(b, err)

	before := countWritten(b, db)
	contender := func(name string, transact transaction) compare.Contender {
		run := func(int) (time.Duration, error) {
			began := time.Now()
			for at := 0; at < len(messages); at += perTx {
				if err := transact(b.Context(), db, messages[at:at+perTx]); err != nil {
					return 0, err
				}
			}
			return time.Since(began), nil
		}
		_, err := run(0) // connections and statements
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: size.transactions, Run: run}
	}
	leat := contender("leat", ordering(ob.Enqueue))
	rivals := []compare.Contender{
		contender("plain", ordering(insertPlain)), contender("tuned", ordering(insertTuned)),
		contender("queued", queued(ob)), contender("plain-queued", queuedPlain), contender("one-trip", oneTrip(ob)), contender("none", ordering(insertNothing)),
	}

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "tx/s", append([]compare.Contender{leat}, rivals...)...)
	b.StopTimer()
	requireMessages(b, db, before, 3, 3)
}

// requireMessages makes sure that the figures are those of work that was done: each
// round of every contender writes as many messages, so many of them into the outbox and so
// many into the plain table. It counts those that are not in before.
func requireMessages(b *testing.B, db *testenv.Database, before inserted, outboxes, plains int) {
	b.Helper()
	if only() != "" {
		return
	}
	now := countWritten(b, db)
	enqueued, plain := now.enqueued-before.enqueued, now.plain-before.plain
	require.Positive(b, enqueued)
	require.Equal(b, plain*outboxes, enqueued*plains)
}

// inserted is how many messages stand in the outbox and in the plain table.
type inserted struct{ enqueued, plain int }

func countWritten(b *testing.B, db *testenv.Database) inserted {
	b.Helper()
	var w inserted
	require.NoError(b, db.Pool.QueryRow(b.Context(), "SELECT count(*), (SELECT count(*) FROM plain) FROM leat.outbox").
		Scan(&w.enqueued, &w.plain))
	return w
}

// transaction is the business transaction with its messages.
type transaction = func(ctx context.Context, db *testenv.Database, messages []outbox.Message) error

const insertOrder = "INSERT INTO orders (customer, body) VALUES ($1, $2)"

// ordering returns a transaction that writes one statement after the other.
func ordering(write insert) transaction {
	return func(ctx context.Context, db *testenv.Database, messages []outbox.Message) error {
		return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, insertOrder, messages[0].Key, messages[0].Payload); err != nil {
				return err
			}
			return write(ctx, tx, messages...)
		})
	}
}

// queued returns one that writes both statements in one batch.
func queued(ob *pgoutbox.Outbox) transaction {
	return func(ctx context.Context, db *testenv.Database, messages []outbox.Message) error {
		return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			var batch pgx.Batch
			batch.Queue(insertOrder, messages[0].Key, messages[0].Payload)
			if err := ob.QueueEnqueue(ctx, &batch, messages...); err != nil {
				return err
			}
			return tx.SendBatch(ctx, &batch).Close()
		})
	}
}

// queuedPlain is queued with the plain table in the outbox's place.
func queuedPlain(ctx context.Context, db *testenv.Database, messages []outbox.Message) error {
	return pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue(insertOrder, messages[0].Key, messages[0].Payload)
		batch.Queue(plainStatement, plainColumns(messages)...)
		return tx.SendBatch(ctx, &batch).Close()
	})
}

// oneTrip returns one that writes them, with BEGIN and COMMIT, in one round trip.
func oneTrip(ob *pgoutbox.Outbox) transaction {
	return func(ctx context.Context, _ *testenv.Database, messages []outbox.Message) error {
		var batch pgx.Batch
		batch.Queue(insertOrder, messages[0].Key, messages[0].Payload)
		return ob.InBatch(ctx, &batch, messages...)
	}
}

// insertNothing leaves the business transaction as it would be without messages.
func insertNothing(context.Context, pgx.Tx, ...outbox.Message) error { return nil }

// insertPlain writes what a message consists of, and nothing else.
func insertPlain(ctx context.Context, tx pgx.Tx, messages ...outbox.Message) error {
	_, err := tx.Exec(ctx, plainStatement, plainColumns(messages)...)
	return err
}

// plainColumns are the arguments of plainStatement.
func plainColumns(messages []outbox.Message) []any {
	n := len(messages)
	ids, topics, keys, payloads := make([]string, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i := range messages {
		ids[i], topics[i], keys[i], payloads[i] = messages[i].ID, messages[i].Topic, messages[i].Key, messages[i].Payload
	}
	return []any{ids, topics, keys, payloads}
}

const plainStatement = `INSERT INTO plain (id, topic, key, payload)
	SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[])`

// insertTuned writes the same as insertPlain, with ids in binary, and with a form
// of its own for one message.
func insertTuned(ctx context.Context, tx pgx.Tx, messages ...outbox.Message) error {
	n := len(messages)
	ids, topics, keys, payloads := make([]pgtype.UUID, n), make([]string, n), make([]string, n), make([][]byte, n)
	for i := range messages {
		id, err := uuid.Parse(messages[i].ID)
		if err != nil {
			return err
		}
		ids[i] = pgtype.UUID{Bytes: id, Valid: true}
		topics[i], keys[i], payloads[i] = messages[i].Topic, messages[i].Key, messages[i].Payload
	}
	if n == 1 {
		_, err := tx.Exec(ctx, "INSERT INTO plain (id, topic, key, payload) VALUES ($1, $2, $3, $4)",
			ids[0], topics[0], keys[0], payloads[0])
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO plain (id, topic, key, payload)
		SELECT unnest($1::uuid[]), unnest($2::text[]), unnest($3::text[]), unnest($4::bytea[])`, ids, topics, keys, payloads)
	return err
}

// enqueueSQL measures the transaction of BenchmarkEnqueue on database/sql, with pgx's
// driver: EnqueueSQL (leat), the same plain insert beside it and no message at all;
// and Enqueue and the plain insert on pgx, for what database/sql costs.
func enqueueSQL(b *testing.B, db *testenv.Database, perTx int) {
	b.Helper()
	size := scale(b).enqueueSQL
	logSettings(b, db, nil)
	handle := db.SQL(b)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	messages, err := load.Messages(load.Spec{
		Messages: size.transactions * perTx, Bytes: 512, Keys: min(10_000, size.transactions*perTx), Topic: "orders",
	})
	require.NoError(b, err)
	before := countWritten(b, db)
	contender := func(name string, transact func(messages []outbox.Message) error) compare.Contender {
		run := func(int) (time.Duration, error) {
			began := time.Now()
			for at := 0; at < len(messages); at += perTx {
				if err := transact(messages[at : at+perTx]); err != nil {
					return 0, err
				}
			}
			return time.Since(began), nil
		}
		_, err := run(0) // connections and statements
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: size.transactions, Run: run}
	}
	onSQL := func(write insertSQL) func([]outbox.Message) error {
		return func(messages []outbox.Message) error { return orderSQL(b.Context(), handle, messages, write) }
	}
	onPgx := func(write insert) func([]outbox.Message) error {
		return func(messages []outbox.Message) error { return ordering(write)(b.Context(), db, messages) }
	}
	contenders := []compare.Contender{
		contender("leat", onSQL(ob.EnqueueSQL)), contender("plain", onSQL(insertPlainSQL)), contender("none", onSQL(insertNothingSQL)),
		contender("leat-pgx", onPgx(ob.Enqueue)), contender("plain-pgx", onPgx(insertPlain)),
	}

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "tx/s", contenders...)
	b.StopTimer()
	requireMessages(b, db, before, 1, 1)
}

// insertSQL writes messages in tx.
type insertSQL = func(ctx context.Context, tx *sql.Tx, messages ...outbox.Message) error

// orderSQL is the business transaction with its messages.
func orderSQL(ctx context.Context, db *sql.DB, messages []outbox.Message, write insertSQL) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	_, err = tx.ExecContext(ctx, insertOrder, messages[0].Key, messages[0].Payload)
	if err == nil {
		err = write(ctx, tx, messages...)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// insertNothingSQL leaves the business transaction as it would be without messages.
func insertNothingSQL(context.Context, *sql.Tx, ...outbox.Message) error { return nil }

// insertPlainSQL is insertPlain.
func insertPlainSQL(ctx context.Context, tx *sql.Tx, messages ...outbox.Message) error {
	_, err := tx.ExecContext(ctx, plainStatement, plainColumns(messages)...)
	return err
}
