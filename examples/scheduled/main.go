// Command scheduled is for services that cannot run a relay permanently: a job that a scheduler
// starts every minute sends the committed messages and ends. It must not run longer than its own
// deadline.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scheduled:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "scheduled")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	topic, err := s.CreateTopic(ctx, "reminders")
	if err != nil {
		return err
	}
	if err := produce(ctx, s.Pool, topic); err != nil {
		return err
	}

	// Each call is one run of the job; here three runs follow each other.
	for range 3 {
		if err := job(ctx, s.Pool, s.Brokers); err != nil {
			return err
		}
	}
	records, err := s.Read(ctx, topic, 5)
	fmt.Println("in Kafka:", len(records))
	return err
}

// job is the whole main function of a scheduled relay.
func job(ctx context.Context, pool *pgxpool.Pool, brokers []string) error {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Second)
	defer cancel()

	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	source, err := ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	sink, err := kafkasink.New(brokers, kafkasink.Config{})
	if err != nil {
		return err
	}
	defer sink.Close()
	r, err := relay.New(source, sink, relay.Config{PageSize: 2})
	if err != nil {
		return err
	}
	switch n, err := r.RunOnce(ctx); {
	case errors.Is(err, driver.ErrLeaseHeld):
		fmt.Println("the previous run is still at work")
		return nil
	case err != nil:
		return fmt.Errorf("relayed %d, then: %w", n, err) // the next run goes on from there
	default:
		fmt.Println("relayed:", n)
		return nil
	}
}

// produce stands for the services that enqueue.
func produce(ctx context.Context, pool *pgxpool.Pool, topic string) error {
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	if err := ob.Migrate(ctx); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		msgs := make([]outbox.Message, 5)
		for i := range msgs {
			msgs[i] = outbox.Message{Topic: topic, Key: "customer-7", Payload: fmt.Appendf(nil, "reminder %d", i+1)}
		}
		return ob.Enqueue(ctx, tx, msgs...)
	})
}
