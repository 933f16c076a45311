package main

import (
	"context"
	"net/http"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func main() {
	pool := must(pgxpool.New(context.Background(), "postgres://localhost/shop"))
	ob := must(pgoutbox.New(pool, pgoutbox.Config{}))
	in := must(pginbox.New(pool, "shop", pginbox.Config{}))
	sink := must(kafkasink.New([]string{"localhost:9092"}, kafkasink.Config{AllowAutoTopicCreation: true}))
	sub := must(kafkasource.NewSubscriber([]string{"localhost:9092"}, "shop", kafkasource.Config{Marks: in}))
	shop := must(leat.New(leat.Config{Outbox: ob, Inbox: in, Sink: sink}))
	http.HandleFunc("POST /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		must(0, ob.InTx(r.Context(), func(ctx context.Context, tx pgx.Tx) error { // both happen, or neither
			must(tx.Exec(ctx, "INSERT INTO orders VALUES ($1)", r.PathValue("id")))
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: r.PathValue("id")})
		}))
	})
	shop.Router(nil).AddConsumerHandler("loyalty", "orders", sub, func(msg *message.Message) error {
		_, err := pginbox.Tx(msg.Context()).Exec(msg.Context(), "UPDATE points SET total = total + 1")
		return err
	})
	must(0, ob.Migrate(context.Background())) // Run does it, too, but the first order may come before
	go http.ListenAndServe("localhost:8080", nil)
	must(0, shop.Run(context.Background())) // until ctx ends: migrates, relays, consumes, cleans up
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
