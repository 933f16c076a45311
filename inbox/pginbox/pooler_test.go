package pginbox_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI1_I5_ThroughAPooler: claims hold through a pooler in transaction mode, also
// where the same message is delivered to several at a time.
//
//leat:level 2
func TestI1_I5_ThroughAPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			cfg := testenv.PgBouncer(t, db, testenv.PoolTransaction).Pool.Config()
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			defer pool.Close()
			in, err := pginbox.New(pool, "c", pginbox.Config{})
			require.NoError(t, err)

			const messages, copies = 20, 4
			var deliveries sync.WaitGroup
			var mu sync.Mutex
			outcomes := map[inbox.Outcome]int{}
			for i := range messages {
				for range copies {
					deliveries.Go(func() {
						got, err := in.Process(t.Context(), message.NewMessage(strconv.Itoa(i), nil), func(ctx context.Context) error {
							_, err := pginbox.Tx(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1)", strconv.Itoa(i))
							return err
						})
						mu.Lock()
						defer mu.Unlock()
						if err == nil {
							outcomes[got]++
						}
					})
				}
			}
			deliveries.Wait()
			require.Equal(t, messages, outcomes[inbox.OutcomeCommitted])
			var effects, distinct int
			require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT e) FROM effects e").Scan(&effects, &distinct))
			require.Equal(t, []int{messages, messages}, []int{effects, distinct})
		})
	}
}
