package sqloutbox_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// An order and its message commit together, and a relay sends what has committed.
func Example() { //nolint:testableexamples // the module requires no driver for it
	ctx := context.Background()
	db, err := sql.Open("mysql", "shop@tcp(127.0.0.1:3306)/shop?interpolateParams=true") // by a driver that you import
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	ob, err := sqloutbox.New(db, outbox.MySQL, sqloutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ob.Migrate(ctx); err != nil {
		fmt.Println(err)
		return
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", "o-1"); err != nil {
			return err
		}
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "o-1"})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error { // kafkasink, say
		fmt.Println("sent", r.Key)
		return nil
	}, relay.FuncConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	source, err := ob.Source(sqloutbox.SourceConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := relay.New(source, sink, relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.RunOnce(ctx)) // a service calls Run
}
