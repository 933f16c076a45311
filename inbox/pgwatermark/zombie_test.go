package pgwatermark_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// eachKind runs test on both drivers at each isolation level.
func eachKind(t *testing.T, test func(t *testing.T, kind string, level pgx.TxIsoLevel)) {
	t.Helper()
	for _, kind := range []string{"pgx", "sql"} {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			t.Run(kind+"/"+string(level), func(t *testing.T) {
				t.Parallel()
				test(t, kind, level)
			})
		}
	}
}

// TestI8_MonotoneUnderZombies has several sessions that all believe that the
// partition is theirs, with handlers that fail and sessions that end at any time.
// Each message takes effect once and the watermark moves by one session at a time.
func TestI8_MonotoneUnderZombies(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string, level pgx.TxIsoLevel) {
		t.Helper()
		const count, sessions = 60, 5
		db := testenv.Postgres(t, template)
		watchMoves(t, db)
		handle := func(p driver.Position) func(context.Context) error {
			return func(ctx context.Context) error {
				if err := effectOf(p)(ctx); err != nil || rand.N(5) > 0 {
					return err
				}
				return errOnPurpose
			}
		}
		var group sync.WaitGroup
		errs := make([]error, sessions)
		for i := range sessions {
			w := newWatermark(t, db, kind, pgwatermark.Config{Isolation: level, Config: inbox.Config{BusyDelay: time.Millisecond}})
			group.Go(func() {
				for done := false; !done && errs[i] == nil; {
					left := 1 + rand.N(20) // deliveries until the session ends
					done, errs[i] = readOn(t.Context(), w, count, func() bool { left--; return left < 0 }, handle)
				}
			})
		}
		group.Wait()
		require.NoError(t, errors.Join(errs...))
		all, distinct := countEffects(t, db)
		require.Equal(t, []int{count, count}, []int{all, distinct})
		requireMonotone(t, db, count)
	})
}

// TestI8_ClaimGoesByTheRowAsItIs has the row change between a claim's snapshot and
// its look at the row, by a transaction that takes no lock: the claim finds it
// changed, and does not go by what it was.
func TestI8_ClaimGoesByTheRowAsItIs(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string, level pgx.TxIsoLevel) {
		t.Helper()
		db := testenv.Postgres(t, template)
		w := newWatermark(t, db, kind, pgwatermark.Config{Isolation: level})
		assign(t, w, whole(9))
		tx, err := db.Connect(t).Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `UPDATE leat.inbox_watermarks SET next_off = 1`)
		require.NoError(t, err)

		type end struct {
			outcome inbox.Outcome
			err     error
		}
		ended := make(chan end, 1)
		go func() {
			outcome, err := processAt(t.Context(), w, at(0), effectOf(at(0)))
			ended <- end{outcome, err}
		}()
		for waiting := 0; waiting == 0; {
			require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%inbox_watermarks%'`).Scan(&waiting))
		}
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, end{outcome: inbox.OutcomeDuplicate}, <-ended)
		all, _ := countEffects(t, db)
		require.Zero(t, all)
	})
}
