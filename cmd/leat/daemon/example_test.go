package daemon_test

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// A program of your own runs relays to a destination that leat run does not know.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pager, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		fmt.Println("paged:", string(r.Payload))
		cancel() // here the example ends, elsewhere SIGTERM does it
		return nil
	}, relay.FuncConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "pages", Key: "ann", Payload: []byte("the mill stands still")})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = daemon.Run(ctx, daemon.Config{
		Relays: []daemon.Relay{{Outbox: "mill", Group: "default", Source: ob.Source(memoutbox.SourceConfig{}), Sink: pager}},
		Listen: "127.0.0.1:0",
	})
	fmt.Println(err)
	// Output:
	// paged: the mill stands still
	// <nil>
}
