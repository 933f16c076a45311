package testenv

import (
	"context"
	"errors"
	"testing"
)

// PoolMode says when a pooler gives a client another server connection.
type PoolMode string

// The modes of PgBouncer.
const (
	// PoolSession keeps the server connection until the client disconnects.
	PoolSession PoolMode = "session"
	// PoolTransaction gives it away after each transaction: settings, LISTEN and
	// session locks are lost, and show up with somebody else.
	PoolTransaction PoolMode = "transaction"
)

// PgBouncer starts a PgBouncer of the test's own in front of db and returns the
// database as it is seen through it; the pool's query mode works
// through poolers. The pooler is gone when the test ends. Where there is none and it
// cannot be installed, the test fails in CI and is skipped elsewhere.
func PgBouncer(tb testing.TB, db *Database, mode PoolMode) *Database {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	url, stop, err := startPgBouncer(ctx, db.URL, mode)
	if errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("PgBouncer is needed: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := stop(ctx); err != nil {
			tb.Errorf("stop the test's PgBouncer: %v", err)
		}
	})
	pooled := openDatabase(tb, url)
	pooled.ServerVersion = db.ServerVersion
	tb.Cleanup(func() { closePool(tb, pooled.Pool) })

	return pooled
}
