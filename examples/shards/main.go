// Command shards is for a service that has outgrown one database. Its customers are divided among three databases,
// each with an outbox that shares the transactions of its rows. One process relays all of them, and a customer
// moves.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/outbox/relay"
)

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shards:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "shards")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	pools := []*pgxpool.Pool{s.Pool}
	for _, name := range []string{"shards-1", "shards-2"} {
		pool, err := s.Database(ctx, name)
		if err != nil {
			return err
		}
		defer pool.Close()
		pools = append(pools, pool)
	}
	topic, err := s.CreateTopic(ctx, "orders")
	if err != nil {
		return err
	}
	shop, err := openShop(ctx, topic, pools...)
	if err != nil {
		return err
	}

	relaying, stop := context.WithCancel(ctx)
	relayed := make(chan error, 1)
	go func() { relayed <- shop.relay(relaying, s.Brokers, relay.Config{}) }()
	defer func() {
		stop()
		err = errors.Join(err, <-relayed)
	}()
	if err := trade(ctx, shop); err != nil {
		return err
	}
	records, err := s.Read(ctx, topic, 8)
	for _, r := range records {
		fmt.Printf("in Kafka: key %s, %s\n", r.Key, r.Value)
	}
	return err
}

// trade makes three customers order, one of them from two shards.
func trade(ctx context.Context, shop *shop) error {
	for _, order := range []string{"ada-1", "ada-2", "bob-1", "eve-1", "bob-2", "eve-2"} {
		if _, err := shop.place(ctx, order[:3], order); err != nil {
			return err
		}
	}
	from := shop.home("ada")
	to := (from + 1) % len(shop.shards)
	if err := shop.move(ctx, "ada", from, to); err != nil {
		return err
	}
	fmt.Printf("bob begins in shard %d, eve in shard %d; ada moves from shard %d to shard %d\n", shop.home("bob"), shop.home("eve"), from, to)
	for _, order := range []string{"ada-3", "ada-4"} {
		if _, err := shop.place(ctx, "ada", order); err != nil {
			return err
		}
	}
	return nil
}
