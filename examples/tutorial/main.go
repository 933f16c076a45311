package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	pool := must(pgxpool.New(ctx, "postgres://localhost/shop"))
	ob := must(pgoutbox.New(pool, pgoutbox.Config{}))
	in := must(pginbox.New(pool, "shop", pginbox.Config{Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3},
	}}))
	sink := must(kafkasink.New([]string{"localhost:9092"}, kafkasink.Config{AllowAutoTopicCreation: true}))
	sub := must(kafkasource.NewSubscriber([]string{"localhost:9092"}, "shop", kafkasource.Config{Marks: in}))
	shop := must(leat.New(leat.Config{Outbox: ob, Inbox: in, Sink: sink}))

	router := shop.Router(nil)
	router.AddConsumerHandler("loyalty", "orders", sub, func(msg *message.Message) error {
		ctx, customer := msg.Context(), string(msg.Payload)
		done, err := pginbox.Tx(ctx).Exec(ctx, "UPDATE accounts SET points = points + 1 WHERE customer = $1", customer)
		if err == nil && done.RowsAffected() == 0 {
			err = fmt.Errorf("%s has no account", customer)
		}
		return err
	})
	http.HandleFunc("POST /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, customer := r.PathValue("id"), r.FormValue("customer")
		err := ob.InTx(r.Context(), func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ($1, $2)", id, customer); err != nil {
				return err
			}
			return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: customer, Payload: []byte(customer)})
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	must(0, ob.Migrate(ctx)) // Run does it, too, but the first order may come before
	go http.ListenAndServe("localhost:8080", nil)
	must(0, shop.Run(ctx)) // until Ctrl-C
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
