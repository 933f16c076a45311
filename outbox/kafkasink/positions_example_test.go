package kafkasink_test

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// After a failover that lost commits relays refuse to start, since the position in Kafka
// is ahead of the database. With the relays stopped, an operator removes it, and rebases
// the group: ob.Rebase(ctx, pgoutbox.RebaseRequest{Start: driver.Start{Oldest: true}, …}).
func ExampleTransactional_RemovePositions() {
	ctx := context.Background()
	cluster, err := kfake.NewCluster(kfake.SeedTopics(3, "orders"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	sink, err := kafkasink.NewTransactional(cluster.ListenAddrs(), kafkasink.TransactionalConfig{
		TransactionalIDPrefix: "shop-", PositionTopic: "shop-positions", CreatePositionTopic: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sink.Close()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{ID: "1", Topic: "orders", Payload: []byte("placed")})
	}); err != nil {
		fmt.Println(err)
		return
	}
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := r.RunOnce(ctx)
	fmt.Println(n, "relayed", err)

	removed, err := sink.RemovePositions(ctx, kafkasink.RemoveRequest{Actor: "ann", Reason: "failover at noon lost commits"})
	for _, p := range removed {
		fmt.Println("removed:", p.Slot, p.Position != nil)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	positions, err := sink.Positions(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range positions {
		fmt.Println(p.Slot, p.Position == nil, p.RemovedBy, p.Reason)
	}

	// Output:
	// 1 relayed <nil>
	// removed: default/0 true
	// default/0 true ann failover at noon lost commits
}
