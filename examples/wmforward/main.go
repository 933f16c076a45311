// Command wmforward is for services that send through Watermill's forwarder. Their producers stay
// unchanged. A relay replaces the forwarder at its current position, and Kafka sees no difference.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/examples/internal/servers"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmforward"
)

func main() {
	servers.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wmforward:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	s, err := servers.Start(ctx, "wmforward")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	topic, err := s.CreateTopic(ctx, "orders")
	if err != nil {
		return err
	}
	if _, err := s.Pool.Exec(ctx, `CREATE TABLE orders (id text PRIMARY KEY, cents bigint NOT NULL CHECK (cents > 0))`); err != nil {
		return err
	}

	// Yesterday: the forwarder carries messages, and is then stopped.
	fwd, err := newForwarder(s)
	if err != nil {
		return err
	}
	if err := errors.Join(place(ctx, s, topic, "o-1", 1999), place(ctx, s, topic, "o-2", 250)); err != nil {
		return errors.Join(err, fwd.Close())
	}
	if err := runUntilSent(ctx, s, fwd, 2); err != nil {
		return err
	}

	// Today: a relay. Messages that the forwarder has sent are not sent again.
	if err := errors.Join(place(ctx, s, topic, "o-3", 4500), place(ctx, s, topic, "o-4", 99)); err != nil {
		return err
	}
	if err := takeOver(ctx, s); err != nil {
		return err
	}
	records, err := s.Read(ctx, topic, 4)
	for _, r := range records {
		fmt.Printf("in Kafka: key %s, %s, %d headers\n", r.Key, r.Value, len(r.Headers))
	}
	return err
}

// takeOver is the only new code. A service calls Run instead of RunOnce, and stops its forwarder
// before or after.
func takeOver(ctx context.Context, s *servers.Servers) error {
	source, err := wmforward.New(s.Pool, wmforward.Config{KeyFunc: orderID})
	if err != nil {
		return err
	}
	if err := source.Migrate(ctx); err != nil {
		return err
	}
	// The headers that consumers know, and the partitions that keys have.
	sink, err := kafkasink.New(s.Brokers, kafkasink.Config{Format: kafkasink.FormatWatermill})
	if err != nil {
		return err
	}
	defer sink.Close()
	r, err := relay.New(source, wmforward.Guard(sink), relay.Config{})
	if err != nil {
		return err
	}
	n, err := r.RunOnce(ctx)
	fmt.Println("the relay has sent", n)
	return err
}

// orderID is the function that the service's marshaler uses for its keys.
func orderID(_ string, msg *message.Message) (string, error) {
	return msg.Metadata.Get("order_id"), nil
}

// place is the producer, unchanged.
func place(ctx context.Context, s *servers.Servers, topic, id string, cents int) error {
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2)`, id, cents); err != nil {
			return err
		}
		pub, err := sql.NewPublisher(sql.TxFromPgx(tx), sql.PublisherConfig{SchemaAdapter: sql.DefaultPostgreSQLSchema{}}, nil)
		if err != nil {
			return err
		}
		msg := message.NewMessageWithContext(ctx, watermill.NewUUID(), fmt.Appendf(nil, `{"id":%q,"cents":%d}`, id, cents))
		msg.Metadata.Set("order_id", id)
		return forwarder.NewPublisher(pub, forwarder.PublisherConfig{}).Publish(topic, msg)
	})
}

// newForwarder is what the service has run until today.
func newForwarder(s *servers.Servers) (*forwarder.Forwarder, error) {
	sub, err := sql.NewSubscriber(sql.BeginnerFromPgx(s.Pool), sql.SubscriberConfig{
		SchemaAdapter:  sql.DefaultPostgreSQLSchema{},
		OffsetsAdapter: sql.DefaultPostgreSQLOffsetsAdapter{},
		PollInterval:   50 * time.Millisecond,
	}, nil)
	if err != nil {
		return nil, err
	}
	if err := sub.SubscribeInitialize("forwarder_topic"); err != nil {
		return nil, err
	}
	pub, err := kafka.NewPublisher(kafka.PublisherConfig{
		Brokers: s.Brokers, Marshaler: kafka.NewWithPartitioningMarshaler(orderID),
	}, nil)
	if err != nil {
		return nil, err
	}
	fwd, err := forwarder.NewForwarder(sub, pub, nil, forwarder.Config{CloseTimeout: 10 * time.Second})
	return fwd, err
}

// runUntilSent runs the forwarder until it has stored that n messages are sent: messages that it
// has sent but not stored would be sent again.
func runUntilSent(ctx context.Context, s *servers.Servers, fwd *forwarder.Forwarder, n int) error {
	done := make(chan error, 1)
	go func() { done <- fwd.Run(ctx) }()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for sent := 0; sent < n; {
		select {
		case err := <-done:
			return errors.Join(errors.New("the forwarder has stopped"), err)
		case <-poll.C:
		}
		err := s.Pool.QueryRow(ctx, `SELECT coalesce(max(offset_acked), 0) FROM watermill_offsets_forwarder_topic`).Scan(&sent)
		if err != nil {
			return errors.Join(err, fwd.Close(), <-done)
		}
	}
	fmt.Println("the forwarder has sent", n)
	return errors.Join(fwd.Close(), <-done)
}
