package kafkasink_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

func Example() {
	cluster, err := kfake.NewCluster(kfake.SeedTopics(3, "orders"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()

	sink, err := kafkasink.New(cluster.ListenAddrs(), kafkasink.Config{
		// Options: TLS and SASL, see docs/kafka-security.md
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sink.Close() }()

	// relay.New(source, sink, relay.Config{}) does this, page after page.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	results := sink.Send(ctx, []outbox.Record{
		{Seq: 1, Message: outbox.Message{ID: "1", Topic: "orders", Key: "customer-7", Payload: []byte("placed")}},
		{Seq: 2, Message: outbox.Message{ID: "2", Topic: "orders/placed", Key: "customer-7"}},
		{Seq: 3, Message: outbox.Message{ID: "3", Topic: "orders", Key: "customer-7", Payload: []byte("paid")}},
	})
	for i, r := range results {
		if r.Err == nil {
			fmt.Println(i+1, "delivered")
		} else {
			fmt.Println(i+1, outbox.KindOf(r.Err))
		}
	}

	// Output:
	// 1 delivered
	// 2 permanent
	// 3 delivered
}
