package pgdedupe_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/httpdedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// shop is a service that writes an order and enqueues a message. Its table has no
// unique constraint, so that a double effect is visible.
type shop struct {
	pool  *pgxpool.Pool
	store *pgdedupe.TxStore
	ob    *pgoutbox.Outbox
}

func newShop(t *testing.T) *shop {
	t.Helper()
	db := testenv.Postgres(t)
	return openShop(t, db.Pool)
}

func openShop(t *testing.T, pool *pgxpool.Pool) *shop {
	t.Helper()
	store, err := pgdedupe.NewTx(pool, "shop", pgdedupe.Config{})
	require.NoError(t, err)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	require.NoError(t, ob.Migrate(t.Context()))
	_, err = pool.Exec(t.Context(), `CREATE TABLE IF NOT EXISTS orders (id bigint GENERATED ALWAYS AS IDENTITY, body text)`)
	require.NoError(t, err)
	return &shop{pool, store, ob}
}

// order writes in the request's transaction.
func (s *shop) order(ctx context.Context, body string) (id int, err error) {
	tx := pgdedupe.Tx(ctx)
	if err := tx.QueryRow(ctx, `INSERT INTO orders (body) VALUES ($1) RETURNING id`, body).Scan(&id); err != nil {
		return 0, err
	}
	return id, s.ob.EnqueueContext(ctx, outbox.Message{Topic: "orders", Key: body})
}

// ServeHTTP places the order.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id, err := s.order(r.Context(), string(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "order %d", id)
}

// effects returns the number of orders, and requires as many messages and
// responses.
func (s *shop) effects(t *testing.T) int {
	t.Helper()
	var orders, messages, responses int
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM orders),
		(SELECT count(*) FROM leat.outbox), (SELECT count(*) FROM leat.http_responses)`).Scan(&orders, &messages, &responses))
	require.Equal(t, orders, messages)
	require.Equal(t, orders, responses)
	return orders
}

func (s *shop) serve(t *testing.T, store dedupe.TxStore, h http.Handler) string {
	t.Helper()
	m, err := httpdedupe.NewTx(store, httpdedupe.OneTenant, httpdedupe.Config{Required: true, AfterCommit: s.ob.Wake})
	require.NoError(t, err)
	server := httptest.NewServer(m(h))
	t.Cleanup(server.Close)
	return server.URL
}

// send returns the status and the body, and 0 where there was no response.
func send(t *testing.T, url, key, body string) (int, string) {
	t.Helper()
	status, got, err := post(t.Context(), url, key, body)
	require.NoError(t, err)
	return status, got
}

func post(ctx context.Context, url, key, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Idempotency-Key", key)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return res.StatusCode, string(got), err
}

func rollback(ctx context.Context, tx pgx.Tx) error {
	return tx.Rollback(ctx)
}
