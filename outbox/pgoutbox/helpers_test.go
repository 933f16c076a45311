package pgoutbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// writer is a transaction on its own connection that a test drives step by step.
type writer struct {
	pgx.Tx

	t  *testing.T
	ob *pgoutbox.Outbox
}

func begin(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) *writer {
	t.Helper()
	tx, err := db.Connect(t).Begin(t.Context())
	require.NoError(t, err)
	return &writer{Tx: tx, t: t, ob: ob}
}

// put enqueues messages of key, with the names as payloads.
func (w *writer) put(key string, names ...string) *writer {
	w.t.Helper()
	require.NoError(w.t, w.ob.Enqueue(w.t.Context(), w.Tx, keyed(key, names...)...))
	return w
}

func (w *writer) exec(sql string, args ...any) *writer {
	w.t.Helper()
	_, err := w.Exec(w.t.Context(), sql, args...)
	require.NoError(w.t, err, sql)
	return w
}

func (w *writer) commit() {
	w.t.Helper()
	require.NoError(w.t, w.Commit(w.t.Context()))
}

func (w *writer) rollback() {
	w.t.Helper()
	require.NoError(w.t, w.Rollback(w.t.Context()))
}

func (w *writer) pid() uint32 {
	return w.Conn().PgConn().PID()
}

// goPut calls put in the background; the channel gets its error.
func (w *writer) goPut(key string, names ...string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- w.ob.Enqueue(w.t.Context(), w.Tx, keyed(key, names...)...) }()
	return done
}

func keyed(key string, names ...string) []outbox.Message {
	msgs := make([]outbox.Message, len(names))
	for i, name := range names {
		msgs[i] = outbox.Message{Topic: "events", Key: key, Payload: []byte(name)}
	}
	return msgs
}

// put commits messages in one transaction, with the names as payloads.
func put(t *testing.T, ob *pgoutbox.Outbox, key string, names ...string) {
	t.Helper()
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, keyed(key, names...)...)
	}))
}

// query1 returns the one value of a query.
func query1[T any](t *testing.T, db *testenv.Database, sql string, args ...any) T {
	t.Helper()
	var v T
	require.NoError(t, db.Pool.QueryRow(t.Context(), sql, args...).Scan(&v), sql)
	return v
}

func exec(t *testing.T, db *testenv.Database, sql string) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), sql)
	require.NoError(t, err, sql)
}

// stored returns the number of rows in the outbox.
func stored(t *testing.T, db *testenv.Database) int {
	t.Helper()
	return query1[int](t, db, "SELECT count(*) FROM leat.outbox")
}

// await polls a condition that should hold within moments.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 30*time.Second, 2*time.Millisecond, what)
}

// awaitBlocked waits until the backend waits for a lock.
func awaitBlocked(t *testing.T, db *testenv.Database, pid uint32) {
	t.Helper()
	await(t, "the backend waits for a lock", func() bool {
		return strings.EqualFold("lock", query1[string](t, db,
			"SELECT coalesce(wait_event_type, '') FROM pg_stat_activity WHERE pid = $1", pid))
	})
}
