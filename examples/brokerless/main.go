// Command brokerless is for services that need no broker: committed messages of the outbox go to a
// handler in the same program, in key order, and take effect once. The handler is the one that a
// broker's subscriber would call, should there be one later.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "brokerless:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.StartPostgres(ctx, "brokerless")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ob, err := pgoutbox.New(s.Pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	in, err := pginbox.New(s.Pool, "loyalty", pginbox.Config{})
	if err != nil {
		return err
	}
	_, err = s.Pool.Exec(ctx, `
		CREATE TABLE orders (id text PRIMARY KEY);
		CREATE TABLE points (customer text PRIMARY KEY, total int NOT NULL)`)
	if err := errors.Join(err, ob.Migrate(ctx), in.Migrate(ctx)); err != nil {
		return err
	}

	for _, order := range []string{"o-1", "o-2"} {
		err := ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1)`, order)
			return errors.Join(err, ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "ada", Payload: []byte(order)}))
		})
		if err != nil {
			return err
		}
	}

	deliveries, err := deliver(ctx, ob, in)
	if err != nil {
		return err
	}
	var total int
	err = s.Pool.QueryRow(ctx, `SELECT total FROM points WHERE customer = 'ada'`).Scan(&total)
	fmt.Printf("%d deliveries, %d points\n", deliveries, total)
	return err
}

// deliver passes committed messages to the handler. A service calls Run, not RunOnce.
func deliver(ctx context.Context, ob *pgoutbox.Outbox, in *pginbox.Inbox) (deliveries int, err error) {
	handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
		tx := pginbox.Tx(ctx)
		fmt.Printf("handler: %s\n", msg.Payload)
		_, err := tx.Exec(ctx, `
			INSERT INTO points AS p VALUES ($1, 10)
			ON CONFLICT (customer) DO UPDATE SET total = p.total + 10`, msg.Metadata.Get(outbox.HeaderKey))
		return err
	})

	sink, err := relay.Func(func(ctx context.Context, r outbox.Record) error {
		msg := outbox.ToWatermill(&r)
		msg.SetContext(ctx)
		err := handle(msg)
		if deliveries++; err == nil && deliveries == 1 { // as if we had crashed before the relay knew
			err = errors.New("the answer got lost")
		}
		return err
	}, relay.FuncConfig{Lanes: 1})
	if err != nil {
		return 0, err
	}
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return 0, err
	}
	r, err := relay.New(source, sink, relay.Config{
		// A failing message is tried again until it succeeds, and its key waits.
		Policies: []relay.Policy{{Action: relay.Block}},
	})
	if err != nil {
		return 0, err
	}
	_, err = r.RunOnce(ctx)
	return deliveries, err
}
