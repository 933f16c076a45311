package rediscache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/rediscache"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/outbox"
)

// The server is played in process here. With pginbox, Scope is the inbox's own
// method: a failover that has lost commits gives another one, and nothing is skipped
// that it has lost.
func Example() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()

	cache, err := rediscache.New(client, rediscache.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := "timeline 1"
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tiers, err := twotier.New(in.Processor, twotier.Config{
		Scope:  func(context.Context) (string, error) { return scope, nil },
		Memory: -1, Shared: cache,
		Hooks: []outbox.Hook{seen{}}, CacheTimeout: time.Minute, // so that the example does not depend on time
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		deliver(tiers, "order-1")
	}
	scope = "timeline 2"
	deliver(tiers, "order-1")
	fmt.Println(server.Keys())
	// Output:
	// order-1 skipped: false
	// 10 points for order-1
	// committed
	// order-1 skipped: true
	// duplicate
	// order-1 skipped: false
	// duplicate
	// [leat:inbox:7:loyalty:order-1]
}

func deliver(p inbox.Runner, id string) {
	msg := message.NewMessage(id, nil)
	outcome, err := p.Process(context.Background(), msg, func(context.Context) error {
		fmt.Println("10 points for", msg.UUID)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome)
}

// seen prints what the caches do.
type seen struct{}

// OnTwotierLook implements twotier.LookHook.
func (seen) OnTwotierLook(_ context.Context, e twotier.LookEvent) {
	fmt.Println(e.ID, "skipped:", e.Skipped)
}
