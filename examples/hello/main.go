// Command hello shows in one second, in memory and without any server, what leat does. Orders are
// placed in transactions, the broker is unavailable and comes back, it delivers one message twice,
// and each committed order counts once.
//
//	go run ./hello
//
// A service has the same calls on PostgreSQL and Kafka: pgoutbox for memoutbox,
// pginbox for meminbox, kafkasink for wmsink. See ../quickstart.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmsink"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	err := run(ctx)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	orders, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		return err
	}
	shop, loyalty := &shop{outbox: orders}, &loyalty{}
	points, err := meminbox.New("loyalty", meminbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{loyalty}}})
	if err != nil {
		return err
	}
	broker := newBroker()
	defer func() { err = errors.Join(err, broker.Close()) }()

	fmt.Println("A shop places orders. Each is one transaction: the order, and its event in the outbox.")
	broker.breakDown()
	declined := errors.New("card declined")
	for _, o := range []struct {
		id   string
		euro int
		err  error
	}{{"order-1", 30, nil}, {"order-2", 99, declined}, {"order-3", 12, nil}} {
		if err := shop.place(ctx, o.id, o.euro, o.err); err != nil && !errors.Is(err, declined) {
			return err
		}
	}

	fmt.Println("\nA relay carries what was committed to the broker, which is unavailable.")
	stopServices, err := start(ctx, orders, broker, points, loyalty)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopServices()) }()
	if err := await(ctx, broker.refused); err != nil {
		return err
	}
	fmt.Println("  outbox   keeps both events")

	fmt.Println("\nThe broker is back, and a loyalty service counts a point a euro.")
	broker.repair()
	for range 2 {
		if err := await(ctx, broker.acked); err != nil {
			return err
		}
	}

	fmt.Println("\nThe broker delivers order-1 once more, as every broker does some day.")
	if err := broker.repeat("order-1"); err != nil {
		return err
	}
	return loyalty.check(30 + 12)
}

// start runs a relay and a consumer until the returned function is called.
func start(
	ctx context.Context, orders *memoutbox.Outbox, broker *broker, points *meminbox.Inbox, loyalty *loyalty,
) (stop func() error, err error) {
	sink, err := wmsink.New(broker, wmsink.Config{})
	if err != nil {
		return nil, err
	}
	r, err := relay.New(orders.Source(memoutbox.SourceConfig{}), sink, relay.Config{
		Logger: slog.New(slog.DiscardHandler), // it would warn that the broker is unavailable
	})
	if err != nil {
		return nil, err
	}
	router, err := loyalty.router(points, broker)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- router.Run(ctx) }()
	select {
	case <-router.Running():
	case err := <-ended:
		cancel()
		return nil, err
	}
	go func() { ended <- r.Run(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, <-ended)
	}, nil
}

// await waits for an event of the broker.
func await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("nothing happens: %w", ctx.Err())
	}
}
