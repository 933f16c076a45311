package kafkasource_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// orders returns a cluster that has a topic of orders: two messages, and the first
// of them once more.
func orders() (*kfake.Cluster, error) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for _, id := range []string{"order-1 paid", "order-1 paid", "order-1 sent"} {
		record := &kgo.Record{
			Topic: "orders", Key: []byte("order-1"), // in order
			Headers: []kgo.RecordHeader{{Key: outbox.HeaderEventID, Value: []byte(id)}},
		}
		if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
			return nil, err
		}
	}
	return cluster, nil
}

// A service: the subscriber takes the place of another one in a Watermill router.
// With pginbox instead of meminbox, handlers write in a transaction.
func ExampleSubscriber() {
	cluster, err := orders()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	sub, err := kafkasource.NewSubscriber(cluster.ListenAddrs(), "loyalty", kafkasource.Config{
		Concurrency: 64, // messages of one key stay in order
		// Options: TLS and SASL, see docs/kafka-security.md
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		fmt.Println(err)
		return
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		fmt.Println(err)
		return
	}
	router.AddMiddleware(once)
	done := make(chan struct{})
	router.AddConsumerHandler("points", "orders", sub, func(msg *message.Message) error {
		meminbox.OnCommit(msg.Context(), func() {
			fmt.Println(msg.UUID)
			if msg.UUID == "order-1 sent" {
				close(done)
			}
		})
		return nil
	})
	go func() {
		<-done
		_ = router.Close() // which closes the subscriber
	}()
	if err := router.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// order-1 paid
	// order-1 sent
}

// Up to BatchSize messages of a partition at a time. What fails comes again, alone.
func ExampleSubscriber_RunBatches() {
	cluster, err := orders()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	sub, err := kafkasource.NewSubscriber(cluster.ListenAddrs(), "loyalty", kafkasource.Config{BatchSize: 500})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	left := 3
	err = sub.RunBatches(ctx, "orders", func(_ context.Context, msgs []*message.Message) []error {
		for _, msg := range msgs {
			fmt.Println(msg.UUID, "of", msg.Metadata.Get(outbox.HeaderKey))
		}
		if left -= len(msgs); left == 0 {
			stop()
		}
		return nil
	})
	fmt.Println(err, sub.Close())
	// Output:
	// order-1 paid of order-1
	// order-1 paid of order-1
	// order-1 sent of order-1
	// <nil> <nil>
}
