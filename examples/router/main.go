// Command router is for consumers: a Watermill router on Kafka that exists
// already and gains one line, the inbox. The handler's writes, the messages that
// it returns and the memory of having handled the message then commit together,
// so that a message delivered three times is billed once.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "router:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "router")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	in, err := pginbox.New(s.Pool, "billing", pginbox.Config{})
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, `CREATE TABLE invoices (order_id text NOT NULL)`)
	if err := errors.Join(err, ob.Migrate(ctx), in.Migrate(ctx)); err != nil {
		return err
	}

	orders, invoices, err := topics(ctx, s)
	if err != nil {
		return err
	}
	if err := s.Repeat(orders, "o-1", 3); err != nil {
		return err
	}
	if err := bill(ctx, s, in, ob, orders, invoices); err != nil {
		return err
	}

	var billed int
	if err := s.Pool.QueryRow(ctx, `SELECT count(*) FROM invoices`).Scan(&billed); err != nil {
		return err
	}
	fmt.Printf("delivered 3 times, billed %d time\n", billed)
	return s.Relay(ctx, ob, invoices) // a service runs one: see ../pgx
}

// bill runs the router until three deliveries have been acknowledged. A service
// would leave it running: router.Run returns when ctx ends.
func bill(ctx context.Context, s *servers.Servers, in *pginbox.Inbox, ob *pgoutbox.Outbox, orders, invoices string) error {
	sub, err := s.Subscriber("billing")
	if err != nil {
		return err
	}
	pub, err := s.Publisher()
	if err != nil {
		return err
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	router.AddMiddleware(servers.StopAfter(3, stop)) // only the example ends

	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in, Outbox: ob})
	if err != nil {
		return err
	}
	router.AddMiddleware(once) // the one line

	router.AddHandler("billing", orders, sub, invoices, pub, func(msg *message.Message) ([]*message.Message, error) {
		order := string(msg.Payload)
		tx := pginbox.Tx(msg.Context()) // was the pool
		if _, err := tx.Exec(msg.Context(), `INSERT INTO invoices VALUES ($1)`, order); err != nil {
			return nil, err
		}
		invoice := message.NewMessage(watermill.NewUUID(), []byte("invoice for "+order))
		invoice.Metadata.Set(outbox.HeaderKey, order)
		return []*message.Message{invoice}, nil
	})
	return router.Run(ctx)
}

func topics(ctx context.Context, s *servers.Servers) (orders, invoices string, err error) {
	orders, err = s.CreateTopic(ctx, "orders")
	if err != nil {
		return "", "", err
	}
	invoices, err = s.CreateTopic(ctx, "invoices")
	return orders, invoices, err
}
