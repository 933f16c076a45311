package sqloutbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // or any other driver

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// A message is enqueued in the transaction that stores its order, and relayed.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "leat")
	must(err)
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+
		"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	must(err)
	defer func() { _ = db.Close() }()

	ob, err := sqloutbox.New(db, outbox.SQLite, sqloutbox.Config{})
	must(err)
	must(ob.Migrate(ctx))
	_, err = db.ExecContext(ctx, "CREATE TABLE orders (id TEXT PRIMARY KEY)")
	must(err)
	must(ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ('4711')"); err != nil {
			return err
		}
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "4711", Payload: []byte("placed")})
	}))

	source, err := ob.Source(sqloutbox.SourceConfig{})
	must(err)
	broker := outboxtest.NewBroker() // in place of kafkasink or wmsink
	r, err := relay.New(source, broker.Sink(), relay.Config{})
	must(err)
	_, err = r.RunOnce(ctx)
	must(err)
	for _, record := range broker.Log() {
		fmt.Printf("%s %s: %s\n", record.Topic, record.Key, record.Payload)
	}
	// Output: orders 4711: placed
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
