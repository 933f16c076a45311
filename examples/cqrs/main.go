// Command cqrs is for services on Watermill's cqrs component. The EventBus
// publishes into the transaction of the context; every EventProcessor handler
// has an inbox, and the events that it publishes commit with its own writes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
)

// OrderPlaced is the event of a customer's order.
type OrderPlaced struct {
	OrderID string
	Cents   int64
}

// PointsEarned follows from OrderPlaced.
type PointsEarned struct {
	OrderID string
	Points  int64
}

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cqrs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "cqrs")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a, err := newApp(ctx, s)
	if err != nil {
		return err
	}
	defer a.sink.Close()

	if err := placeOrder(ctx, a, OrderPlaced{OrderID: "o-1", Cents: 1999}); err != nil {
		return err
	}
	if err := placeOrder(ctx, a, OrderPlaced{OrderID: "o-2", Cents: -1}); err != nil {
		fmt.Println("o-2 sends nothing:", err)
	}
	if err := a.bus.Publish(ctx, &OrderPlaced{OrderID: "o-3"}); errors.Is(err, outbox.ErrNotInTransaction) {
		fmt.Println("o-3 is in no transaction: the bus refuses it")
	}
	return serve(ctx, a)
}

// placeOrder writes an order and its event, or neither: the bus finds the
// transaction in the context.
func placeOrder(ctx context.Context, a *app, e OrderPlaced) error {
	return a.ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2)`, e.OrderID, e.Cents); err != nil {
			return err
		}
		return a.bus.Publish(ctx, &e)
	})
}

// addHandlers gives each handler its own inbox: a name stands for one effect of a message, and one
// message may have several.
func addHandlers(ctx context.Context, a *app, events *cqrs.EventProcessor) error {
	return errors.Join(
		add(ctx, a, events, cqrs.NewEventHandler("loyalty", func(ctx context.Context, e *OrderPlaced) error {
			points := e.Cents / 100
			if _, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO loyalty VALUES ($1, $2)`, e.OrderID, points); err != nil {
				return err
			}
			return a.bus.Publish(ctx, &PointsEarned{OrderID: e.OrderID, Points: points})
		})),
		add(ctx, a, events, cqrs.NewEventHandler("mail", func(_ context.Context, e *PointsEarned) error {
			fmt.Printf("%s earned %d points\n", e.OrderID, e.Points)
			return nil
		})),
	)
}

// serve runs the relay and the router until ctx ends, here until the mail is sent.
func serve(ctx context.Context, a *app) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	router.AddMiddleware(servers.StopAfter(2, stop)) // only the example ends
	events, err := newEventProcessor(a, router)
	if err != nil {
		return err
	}
	if err := addHandlers(ctx, a, events); err != nil {
		return err
	}
	relayed := make(chan error, 1)
	go func() {
		defer stop()
		relayed <- a.relay.Run(ctx)
	}()
	err = router.Run(ctx)
	stop()
	return errors.Join(err, <-relayed)
}
