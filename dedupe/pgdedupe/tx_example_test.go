package pgdedupe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// The order, the message that announces it and the response that says so commit
// together. The client has not got the first response, and asks again.
func ExampleNewTx() {
	err := onDatabase(func(ctx context.Context, pool *pgxpool.Pool, ob *pgoutbox.Outbox) error {
		store, err := pgdedupe.NewTx(pool, "shop", pgdedupe.Config{})
		if err != nil {
			return err
		}
		if err := store.Migrate(ctx); err != nil {
			return err
		}
		once, err := httpdedupe.NewTx(store, httpdedupe.OneTenant, httpdedupe.Config{Required: true, AfterCommit: ob.Wake})
		if err != nil {
			return err
		}
		h := once(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := pgdedupe.Tx(r.Context()).Exec(r.Context(), `INSERT INTO orders VALUES ('tea')`)
			if err == nil {
				err = ob.EnqueueContext(r.Context(), outbox.Message{Topic: "orders", Key: "tea", Payload: []byte(`{"item":"tea"}`)})
			}
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError) // rolls back
				return
			}
			w.Header().Set("Location", "/orders/tea")
			w.WriteHeader(http.StatusCreated)
		}))
		for range 3 {
			r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader("tea"))
			r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			fmt.Println(w.Code, w.Header().Get("Location"))
		}
		var orders, messages int
		err = pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM leat.outbox)`).Scan(&orders, &messages)
		fmt.Println(orders, "order,", messages, "message")
		return err
	})
	fmt.Println(err)
	// Output:
	// 201 /orders/tea
	// 201 /orders/tea
	// 201 /orders/tea
	// 1 order, 1 message
	// <nil>
}

// onDatabase runs an example on a database of its own, with an outbox and a
// table of orders.
func onDatabase(run func(ctx context.Context, pool *pgxpool.Pool, ob *pgoutbox.Outbox) error) error {
	return testenv.OnDatabase(`CREATE TABLE orders (item text)`, func(ctx context.Context, pool *pgxpool.Pool) error {
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		if err != nil {
			return err
		}
		if err := ob.Migrate(ctx); err != nil {
			return err
		}
		return run(ctx, pool, ob)
	})
}
