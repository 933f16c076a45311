package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// inversions counts the rows that were committed before the preceding row of their key.
const inversions = `
	SELECT count(*) FROM (
		SELECT pg_xact_commit_timestamp(xid::xid) AS at,
		       lag(pg_xact_commit_timestamp(xid::xid)) OVER (PARTITION BY topic, key ORDER BY seq) AS before
		FROM leat.outbox WHERE key IS NOT NULL) o
	WHERE at < before`

// TestO5_SixteenWriters races writers of a few keys, with wide calls, savepoints and rollbacks among them.
// It compares the order of the numbers with the order of the commits that the server recorded.
//
//leat:level 4
func TestO5_SixteenWriters(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a server of its own")
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{
		"track_commit_timestamp": "on", "fsync": "off",
	}})
	for name, unordered := range map[string]bool{"ours": false, "wrong": true} {
		db := server.Database(t, migrated())
		ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{UnorderedKeys: unordered, MaxKeyLocks: 3})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		errs := make([]error, 16)
		for i := range errs {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(i)))
				for ctx.Err() == nil && errs[i] == nil {
					errs[i] = writeAtRandom(ctx, ob, db, rng)
				}
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))

		n, rows := query1[int](t, db, inversions), stored(t, db)
		t.Logf("%s: %d inversions in %d rows", name, n, rows)
		require.Greater(t, rows, 100)
		if unordered {
			require.Positive(t, n, "negative control")
		} else {
			require.Zero(t, n)
		}
		got := readAll(t, acquire(t, ob, ""), 1000)
		require.Len(t, got, rows)
	}
}

// writeAtRandom runs one transaction, unless ctx has ended.
func writeAtRandom(ctx context.Context, ob *pgoutbox.Outbox, db *testenv.Database, rng *rand.Rand) error {
	err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if rng.IntN(2) == 0 { // draws the xid early
			if _, err := tx.Exec(ctx, "SELECT pg_current_xact_id()"); err != nil {
				return err
			}
		}
		if rng.IntN(4) == 0 {
			_ = pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
				return errors.Join(ob.Enqueue(ctx, savepoint, keyed(fmt.Sprint("undone", rng.IntN(3)), "x")...), errBusiness)
			})
		}
		var msgs []outbox.Message
		for range 1 + rng.IntN(5) {
			msgs = append(msgs, keyed(fmt.Sprint("k", rng.IntN(6)), "x")...)
		}
		if err := ob.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_sleep($1)", rng.Float64()*0.002); err != nil {
			return err
		}
		if rng.IntN(5) == 0 {
			return errBusiness
		}
		return nil
	})
	if ctx.Err() == nil && !errors.Is(err, errBusiness) {
		return err
	}
	return nil
}
