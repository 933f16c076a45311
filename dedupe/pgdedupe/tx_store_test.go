package pgdedupe_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestTx_OneCommit: the order, the message and the response are there together.
// TestH_ClockThatJumps: a request that was answered is not run again by a server's clock that is ahead by a month, its response
// pruned or not, nor one that was answered while it was a month behind.
func TestH_ClockThatJumps(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	at := func(off string) *pgdedupe.TxStore {
		s, err := pgdedupe.NewTx(db.ClockOff(t, off), "shop", pgdedupe.Config{})
		require.NoError(t, err)
		return s
	}
	right, ahead, behind := at("0"), at("30 days"), at("-30 days")
	require.NoError(t, right.Migrate(t.Context()))
	for id, s := range map[string]*pgdedupe.TxStore{"right": right, "behind": behind} {
		u, c, err := s.Claim(t.Context(), id, "")
		require.NoError(t, err)
		require.Equal(t, dedupe.Claimed, c.Status)
		require.NoError(t, u.Commit(t.Context(), []byte("answer")))
		for _, other := range []*pgdedupe.TxStore{ahead, right} {
			again, c, err := other.Claim(t.Context(), id, "")
			require.NoError(t, err)
			if again != nil {
				require.NoError(t, again.Rollback(t.Context()))
			}
			require.Equal(t, dedupe.Done, c.Status, id)
			n, err := other.Prune(t.Context())
			require.NoError(t, err)
			require.Zero(t, n, id)
		}
	}
}

func TestTx_OneCommit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := s.serve(t, s.store, s)
	for range 3 {
		status, body := send(t, url, "a", "tea")
		require.Equal(t, http.StatusCreated, status)
		require.Equal(t, "order 1", body)
	}
	require.Equal(t, 1, s.effects(t))
	status, body := send(t, url, "a", "coffee")
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, body, "idempotency_key_reused")
	_, body = send(t, url, "b", "coffee")
	require.Equal(t, "order 2", body)
	require.Equal(t, 2, s.effects(t))
}

// TestTx_ConcurrentSameKey: of many at the same time one commits, in every
// isolation level; the others are told to come again, and hold no connection.
func TestTx_ConcurrentSameKey(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t)
			cfg, err := pgxpool.ParseConfig(db.URL)
			require.NoError(t, err)
			cfg.MaxConns = 8
			cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = isolation
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			defer pool.Close()
			s := openShop(t, pool)
			url := s.serve(t, s.store, s)

			const keys, copies = 6, 5
			bodies := make([][copies]string, keys)
			var wg sync.WaitGroup
			var failures atomic.Int64
			for k := range keys {
				for c := range copies {
					wg.Go(func() {
						for {
							status, body, err := post(t.Context(), url, string(rune('a'+k)), "tea")
							switch {
							case err != nil:
								failures.Add(1)
								return
							case status == http.StatusCreated:
								bodies[k][c] = body
								return
							}
						}
					})
				}
			}
			wg.Wait()
			require.Zero(t, failures.Load())
			require.Equal(t, keys, s.effects(t))
			for _, b := range bodies {
				for _, body := range b {
					require.Equal(t, b[0], body)
				}
			}
			require.Zero(t, pool.Stat().AcquiredConns())
		})
	}
}

// TestClaim_Busy: a key is its transaction's until that ends.
func TestClaim_Busy(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first, claim, err := s.store.Claim(t.Context(), "k", "f")
	require.NoError(t, err)
	require.Equal(t, dedupe.Claimed, claim.Status)
	unit, claim, err := s.store.Claim(t.Context(), "k", "f")
	require.NoError(t, err)
	require.Nil(t, unit)
	require.Equal(t, dedupe.Busy, claim.Status)
	require.NoError(t, first.Rollback(t.Context()))
	second, claim, err := s.store.Claim(t.Context(), "k", "f")
	require.NoError(t, err)
	require.Equal(t, dedupe.Claimed, claim.Status)
	require.NoError(t, second.Commit(t.Context(), []byte("response")))
	_, claim, err = s.store.Claim(t.Context(), "k", "f")
	require.NoError(t, err)
	require.Equal(t, dedupe.Claim{Status: dedupe.Done, Result: []byte("response")}, claim)
	_, claim, err = s.store.Claim(t.Context(), "k", "g")
	require.NoError(t, err)
	require.Equal(t, dedupe.Mismatch, claim.Status)
	require.Zero(t, s.pool.Stat().AcquiredConns())
}

// TestExpires: an expired response is as good as none, pruned or not.
func TestExpires(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	url := s.serve(t, s.store, s)
	send(t, url, "a", "tea")
	send(t, url, "b", "tea")
	_, err := s.pool.Exec(t.Context(), `UPDATE leat.http_responses SET expires_at = clock_timestamp()`)
	require.NoError(t, err)
	_, body := send(t, url, "a", "coffee")
	require.Equal(t, "order 3", body)
	n, err := s.store.Prune(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	_, body = send(t, url, "a", "coffee")
	require.Equal(t, "order 3", body)
}

// TestHandlersThatEnd: a handler cannot commit half of a request.
func TestHandlersThatEnd(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, tt := range map[string]struct {
		end    func(ctx context.Context) error
		status int
	}{
		"commit":    {func(ctx context.Context) error { return pgdedupe.Tx(ctx).Commit(ctx) }, http.StatusInternalServerError},
		"rollback":  {func(ctx context.Context) error { return rollback(ctx, pgdedupe.Tx(ctx)) }, http.StatusServiceUnavailable},
		"statement": {func(ctx context.Context) error { _, err := pgdedupe.Tx(ctx).Exec(ctx, `ROLLBACK`); return err }, http.StatusInternalServerError},
		"failed":    {func(ctx context.Context) error { _, _ = pgdedupe.Tx(ctx).Exec(ctx, `SELECT 1/0`); return nil }, http.StatusServiceUnavailable},
	} {
		url := s.serve(t, s.store, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := s.order(r.Context(), name)
			if err == nil {
				err = tt.end(r.Context())
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}))
		status, body := send(t, url, name, "")
		require.Equal(t, tt.status, status, "%s: %s", name, body)
	}
	require.Zero(t, s.effects(t))
	require.Zero(t, s.pool.Stat().AcquiredConns())
	require.Nil(t, pgdedupe.Tx(t.Context()))
}

func TestSetUp(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	store, err := pgdedupe.NewTx(db.Pool, "shop", pgdedupe.Config{})
	require.NoError(t, err)
	_, _, err = store.Claim(t.Context(), "k", "f")
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	require.ErrorContains(t, err, "leat: schema is not migrated: call Migrate: ")
	_, err = store.Prune(t.Context())
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	require.NoError(t, store.Migrate(t.Context()))
	require.NoError(t, store.Migrate(t.Context()))

	cfg, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	careless, err := pgdedupe.NewTx(pool, "shop", pgdedupe.Config{})
	require.NoError(t, err)
	_, _, err = careless.Claim(t.Context(), "k", "f")
	require.ErrorIs(t, err, outbox.ErrNotDurable)

	_, err = pgdedupe.NewTx(nil, "shop", pgdedupe.Config{})
	require.ErrorContains(t, err, "pool = <nil>: must not be nil")
	for _, name := range []string{"", "\xff", strings.Repeat("x", 201)} {
		_, err = pgdedupe.NewTx(db.Pool, name, pgdedupe.Config{})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, "must be 1 to 200 bytes of UTF-8")
	}
	for want, cfg := range map[string]pgdedupe.Config{
		"TTL = 1ms: must be at least 1s":                 {TTL: time.Millisecond},
		"MigrateLockTimeout = 1ns: must be at least 1ms": {MigrateLockTimeout: 1},
		"Schema, Table": {Table: "\x00"},
	} {
		_, err := pgdedupe.NewTx(db.Pool, "shop", cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
	files, err := pgdedupe.TxMigrations(pgdedupe.Config{})
	require.NoError(t, err)
	require.NotNil(t, files)
}

// TestRefusedSessionLeavesThePool: another part of the service has changed the one session of
// the pool. A request is refused, and the next one gets another session.
func TestRefusedSessionLeavesThePool(t *testing.T) {
	t.Parallel()
	cfg, err := pgxpool.ParseConfig(testenv.Postgres(t).URL)
	require.NoError(t, err)
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	store, err := pgdedupe.NewTx(pool, "shop", pgdedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context()))
	request := func() error {
		unit, _, err := store.Claim(t.Context(), "k", "f")
		if err != nil {
			return err
		}
		return unit.Commit(t.Context(), []byte("response"))
	}
	_, err = pool.Exec(t.Context(), "SET default_transaction_read_only = on")
	require.NoError(t, err)
	require.ErrorIs(t, request(), dedupe.ErrNotCommitted)
	_, err = pool.Exec(t.Context(), "SET synchronous_commit = off")
	require.NoError(t, err)
	require.ErrorIs(t, request(), outbox.ErrNotDurable)
	require.NoError(t, request())
}
