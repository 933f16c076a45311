package relay_test

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// printer is a sink that prints what it is given. A real one is kafkasink.Sink.
type printer struct{}

func (printer) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	for _, r := range records {
		fmt.Printf("%s %s: %s\n", r.Topic, r.Key, r.Payload)
	}
	return make([]outbox.Result, len(records)) // all acknowledged
}

// A service joins its outbox and its broker, and runs the relay until it stops.
func ExampleNew() {
	ctx, stop := context.WithCancel(context.Background()) // a service has signal.NotifyContext
	defer stop()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		panic(err)
	}
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		fmt.Printf("%s %s: %s\n", r.Topic, r.Key, r.Payload)
		stop() // the example has seen enough
		return nil
	}, relay.FuncConfig{})
	if err != nil {
		panic(err)
	}
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{})
	if err != nil {
		panic(err)
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "42", Payload: []byte("placed")})
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Run(ctx))
	// Output:
	// orders 42: placed
	// <nil>
}

// History is sent once more, in this case only the orders, to a topic from which a search index is built.
// Consumers with an inbox recognise the ids.
func ExampleReplay() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		panic(err)
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{Topic: "orders", Key: "42", Payload: []byte("placed")},
			outbox.Message{Topic: "mails", Key: "42", Payload: []byte("thank you")},
		)
	})
	if err != nil {
		panic(err)
	}
	history := ob.History(memoutbox.HistoryConfig{Topics: []string{"orders"}})
	report, err := relay.Replay(ctx, history, printer{}, relay.ReplayConfig{
		Actor: "ann", Reason: "rebuild the search index",
		Topic: func(r *outbox.Record) string { return r.Topic + ".rebuild" },
	})
	fmt.Println(report.Sent, report.Done, err)
	// Output:
	// orders.rebuild 42: placed
	// 1 true <nil>
}

// RunOnce drains what has been committed and returns, for scheduled jobs and
// tests. A service calls Run instead, which goes on until its context ends.
func ExampleRelay_RunOnce() {
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		panic(err)
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{Topic: "orders", Key: "42", Payload: []byte("placed")},
			outbox.Message{Topic: "orders", Key: "42", Payload: []byte("paid")},
		)
	})
	if err != nil {
		panic(err)
	}

	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), printer{}, relay.Config{})
	if err != nil {
		panic(err)
	}
	n, err := r.RunOnce(ctx)
	fmt.Println(n, err)
	// Output:
	// orders 42: placed
	// orders 42: paid
	// 2 <nil>
}
