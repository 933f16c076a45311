package redisdedupe_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

// A mail that is asked for twice is sent once.
func Example() {
	address, stop, err := fakeredis.Start() // stands in for a server
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = client.Close() }()

	store, err := redisdedupe.New(client, redisdedupe.Config{Prefix: "shop:"})
	if err != nil {
		fmt.Println(err)
		return
	}
	mailer, err := dedupe.New(store, "mailer", dedupe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		result, err := mailer.Do(context.Background(), dedupe.Message{ID: "order-1"}, func(context.Context) ([]byte, error) {
			fmt.Println("mail sent")
			return nil, nil
		})
		fmt.Println(result.Outcome, err)
	}
	// Output:
	// mail sent
	// ran <nil>
	// duplicate <nil>
}
