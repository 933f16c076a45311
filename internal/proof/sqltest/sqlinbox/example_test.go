package sqlinbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ThreeDotsLabs/watermill/message"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox"
)

// A handler takes effect once, however often its message is delivered.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "leat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "shop.db")+
		"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	if err := points(context.Background(), db); err != nil {
		fmt.Println(err)
	}
	// Output: 1 message, 10 points
}

func points(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE points (n INTEGER)"); err != nil {
		return err
	}
	in, err := sqlinbox.New(db, outbox.SQLite, "loyalty", sqlinbox.Config{})
	if err != nil {
		return err
	}
	if err := in.Migrate(ctx); err != nil {
		return err
	}
	handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
		tx := sqlinbox.Tx(ctx)
		msg.Ack() // changes nothing: the inbox commits, then its caller acks
		_, err := tx.ExecContext(ctx, "INSERT INTO points VALUES (10)")
		return err
	})
	for range 3 {
		if err := handle(message.NewMessageWithContext(ctx, "order-1", nil)); err != nil {
			return err
		}
	}
	var messages, sum int
	err = db.QueryRowContext(ctx, "SELECT COUNT(*), SUM(n) FROM points").Scan(&messages, &sum)
	fmt.Printf("%d message, %d points\n", messages, sum)
	return err
}
