package sqlinbox_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/outbox"
)

// A message that is delivered twice adds one point: its id is recorded in the transaction of
// the handler.
func Example() { //nolint:testableexamples // the module requires no driver for it
	ctx := context.Background()
	db, err := sql.Open("mysql", "shop@tcp(127.0.0.1:3306)/shop?interpolateParams=true") // by a driver that you import
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	in, err := sqlinbox.New(db, outbox.MySQL, "loyalty", sqlinbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := in.Migrate(ctx); err != nil {
		fmt.Println(err)
		return
	}
	once := in.Handle(func(ctx context.Context, _ *message.Message) error {
		_, err := sqlinbox.Tx(ctx).ExecContext(ctx, "UPDATE points SET total = total + 1")
		return err
	})
	for range 2 { // in a router: middleware.NewInbox
		fmt.Println(once(message.NewMessageWithContext(ctx, "order-1", nil)))
	}
}
