package kafkasink_test

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Readers of committed records see each record once.
func ExampleNewTransactional() {
	ctx := context.Background()
	cluster, err := kfake.NewCluster(kfake.SeedTopics(3, "orders"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{ID: "1", Topic: "orders", Key: "customer-7", Payload: []byte("placed")},
			outbox.Message{ID: "2", Topic: "orders", Key: "customer-7", Payload: []byte("paid")})
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// With Postgres, the source needs SourceConfig.SyncPositions.
	source := ob.Source(memoutbox.SourceConfig{})
	for range 2 { // the second one finds that all is done
		sink, err := kafkasink.NewTransactional(cluster.ListenAddrs(), kafkasink.TransactionalConfig{
			TransactionalIDPrefix: "shop-", // of all replicas, and nobody else
			PositionTopic:         "shop-positions",
			CreatePositionTopic:   true,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := relay.New(source, sink, relay.Config{})
		if err != nil {
			fmt.Println(err)
			return
		}
		n, err := r.RunOnce(ctx) // r.Run(ctx) in a service
		fmt.Println(n, "relayed", err)
		_ = sink.Close()
	}

	consumer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("orders"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted())) // isolation.level=read_committed
	if err != nil {
		fmt.Println(err)
		return
	}
	defer consumer.Close()
	for _, r := range consumer.PollFetches(ctx).Records() {
		fmt.Println(string(r.Key), string(r.Value))
	}

	// Output:
	// 2 relayed <nil>
	// 0 relayed <nil>
	// customer-7 placed
	// customer-7 paid
}
