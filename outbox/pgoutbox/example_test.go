package pgoutbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// printSink is a sink that prints. A real one is kafkasink.Sink.
type printSink struct{}

func (printSink) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	for _, r := range records {
		fmt.Printf("sent %s %s\n", r.Topic, r.Payload)
	}
	return make([]outbox.Result, len(records))
}

// drain relays what has been committed.
func drain(ctx context.Context, ob *pgoutbox.Outbox) error {
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	r, err := relay.New(source, printSink{}, relay.Config{})
	if err != nil {
		return err
	}
	_, err = r.RunOnce(ctx)
	return err
}

// The order and its message are in one transaction: a message whose transaction
// rolls back is never sent.
func ExampleOutbox_InTx() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		place := func(id string, fail error) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", id); err != nil {
					return err
				}
				msg := outbox.Message{Topic: "orders", Key: id, Type: "order.placed", Payload: []byte(id)}
				return errors.Join(ob.Enqueue(ctx, tx, msg), fail)
			})
		}
		fmt.Println("o-1:", place("o-1", nil))
		fmt.Println("o-2:", place("o-2", errors.New("card declined")))
		return drain(ctx, ob)
	})
	fmt.Println(err)
	// Output:
	// o-1: <nil>
	// o-2: card declined
	// sent orders o-1
	// <nil>
}

// A function that can be repeated: it looks for its own row first, so that it may be called again when the
// outcome of its commit is unknown.
func ExampleOutbox_InTx_commitUnknown() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		place := func(id string) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, "INSERT INTO orders SELECT $1 WHERE NOT EXISTS (SELECT FROM orders WHERE id = $1)", id)
				if err != nil || tag.RowsAffected() == 0 {
					return err // or it is placed, with its message
				}
				return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: []byte(id)})
			})
		}
		err := place("o-1")
		for try := 0; errors.Is(err, outbox.ErrCommitUnknown) && try < 3; try++ {
			err = place("o-1")
		}
		return errors.Join(err, place("o-1"), drain(ctx, ob)) // once more changes nothing
	})
	fmt.Println(err)
	// Output:
	// sent orders o-1
	// <nil>
}

// A transaction of your own, and Wake after its commit. Without the Wake the
// relay finds the message by polling.
func ExampleOutbox_Enqueue() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if err := ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Payload: []byte("o-1")}); err != nil {
			return err
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		ob.Wake()
		return drain(ctx, ob)
	})
	fmt.Println(err)
	// Output:
	// sent orders o-1
	// <nil>
}

// Enqueue in a database/sql transaction of pgx's stdlib driver.
func ExampleOutbox_EnqueueSQL() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		db := stdlib.OpenDBFromPool(pool)
		defer db.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := ob.EnqueueSQL(ctx, tx, outbox.Message{Topic: "orders", Payload: []byte("o-1")}); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		ob.Wake()
		return drain(ctx, ob)
	})
	fmt.Println(err)
	// Output:
	// sent orders o-1
	// <nil>
}

// In a batch, the message costs no round trip of its own. A batch that is sent on a pool is one
// transaction.
func ExampleOutbox_QueueEnqueue() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		var batch pgx.Batch
		batch.Queue("INSERT INTO orders VALUES ($1)", "o-1")
		if err := ob.QueueEnqueue(ctx, &batch, outbox.Message{Topic: "orders", Payload: []byte("o-1")}); err != nil {
			return err
		}
		if err := pool.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		ob.Wake()
		return drain(ctx, ob)
	})
	fmt.Println(err)
	// Output:
	// sent orders o-1
	// <nil>
}

// The business statements, the message, BEGIN and COMMIT share one round trip.
func ExampleOutbox_InBatch() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		var batch pgx.Batch
		batch.Queue("INSERT INTO orders VALUES ($1)", "o-1")
		if err := ob.InBatch(ctx, &batch, outbox.Message{Topic: "orders", Payload: []byte("o-1")}); err != nil {
			return err
		}
		return drain(ctx, ob)
	})
	fmt.Println(err)
	// Output:
	// sent orders o-1
	// <nil>
}

// A message that could not be sent unchanged is refused before the database is touched.
func ExampleOutbox_Enqueue_refused() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			fmt.Println(ob.Enqueue(ctx, nil, outbox.Message{Topic: "orders"}))
			fmt.Println(ob.Enqueue(ctx, tx, outbox.Message{Key: "42"}))
			fmt.Println(ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "a\x00b"}))
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// leat: not in a transaction: tx is nil
	// leat: invalid message: messages[0].Topic must not be empty (value "")
	// leat: invalid message: messages[0].Key contains a NUL byte (value "a\x00b")
	// <nil>
}

// The schema as files, for goose or tern.
func ExampleMigrations() {
	files, err := pgoutbox.Migrations(pgoutbox.Config{Schema: "messaging"})
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := fs.Glob(files, "*.sql")
	fmt.Println(names, err)
	// Output: [00001_outbox.sql] <nil>
}

// A service on database/sql keeps its *sql.DB, opened with pgx's driver. The outbox works
// through it, relay and maintenance included.
func ExampleNewSQL() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool, _ *pgoutbox.Outbox) error {
		db, err := sql.Open("pgx", pool.Config().ConnString())
		if err != nil {
			return err
		}
		defer db.Close()
		ob, err := pgoutbox.NewSQL(db, pgoutbox.Config{})
		if err != nil {
			return err
		}
		err = ob.InSQLTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ($1)", "o-1"); err != nil {
				return err
			}
			return ob.EnqueueSQL(ctx, tx, outbox.Message{Topic: "orders", Key: "o-1", Payload: []byte("placed")})
		})
		if err != nil {
			return err
		}
		return drain(ctx, ob)
	})
	fmt.Println(err)
	// Output:
	// sent orders placed
	// <nil>
}

// The outbox sends everything that is enqueued, even two messages with the same ID. A unique key of your
// own makes sure that an event is enqueued once, however often its cause is retried.
func ExampleOutbox_Enqueue_once() {
	err := onDatabase(func(ctx context.Context, _ *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		place := func(id string) error {
			return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1) ON CONFLICT DO NOTHING", id)
				if err != nil || tag.RowsAffected() == 0 { // placed already, and its event enqueued with it
					return err
				}
				return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: []byte(id + " placed")})
			})
		}
		return errors.Join(place("o-1"), place("o-1"), place("o-2"), drain(ctx, ob))
	})
	fmt.Println(err)
	// Output:
	// sent orders o-1 placed
	// sent orders o-2 placed
	// <nil>
}
