package pgdedupe_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// waitFor and tick are for what comes soon, on a machine that is busy.
const (
	waitFor = 30 * time.Second
	tick    = 20 * time.Millisecond
)

// TestForbidden_RecordAfterResponding is the negative control: a middleware that
// commits, answers and then records that it did. Dying in between, it places the
// order twice, which is what the effects would show of ours.
func TestForbidden_RecordAfterResponding(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	recorded, crashes := false, 1
	forbidden := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if recorded {
			return
		}
		err := pgx.BeginFunc(r.Context(), s.pool, func(tx pgx.Tx) error {
			_, err := s.order(pgoutbox.ContextWithTx(r.Context(), tx), "tea")
			return err
		})
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		if crashes--; crashes >= 0 {
			panic(http.ErrAbortHandler) // the process dies, and the response with it
		}
		recorded = true
	})
	server := httptest.NewServer(forbidden)
	defer server.Close()
	_, _, err := post(t.Context(), server.URL, "k", "tea")
	require.Error(t, err)
	for range 2 {
		send(t, server.URL, "k", "tea")
	}
	var orders int
	require.NoError(t, s.pool.QueryRow(t.Context(), `SELECT count(*) FROM orders`).Scan(&orders))
	require.Equal(t, 2, orders, "the check must see a double effect")
}
