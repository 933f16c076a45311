package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO4_EveryQueryMode: poolers need query modes that send parameters and results as text. A message
// passes through all of them unchanged.
//
//leat:level 2
func TestO4_EveryQueryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, migrated())
			cfg, err := pgxpool.ParseConfig(db.URL)
			require.NoError(t, err)
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			defer pool.Close()
			ob, err := pgoutbox.New(pool, pgoutbox.Config{})
			require.NoError(t, err)

			want := outbox.Message{
				ID: "o'-1 \\", Topic: "a\"b", Key: "ключ", Type: "t", Payload: []byte("\x00\xff'\\"),
				Headers: map[string]string{"h": `"\'{}`}, OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC),
			}
			require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				return ob.Enqueue(ctx, tx, want, outbox.Message{Topic: "plain"})
			}))
			var batch pgx.Batch
			require.NoError(t, ob.QueueEnqueue(t.Context(), &batch, outbox.Message{Topic: "batch"}))
			require.NoError(t, pool.SendBatch(t.Context(), &batch).Close())

			delayed := outbox.Message{ID: "d", Topic: "delayed", Key: "k", NotBefore: later()}
			require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				return ob.Enqueue(ctx, tx, delayed, outbox.Message{Topic: "beside"})
			}))
			listed, err := ob.Admin().Delayed(t.Context(), admin.DelayedQuery{ID: "d"})
			require.NoError(t, err)
			require.Len(t, listed, 1)
			require.True(t, delayed.NotBefore.Equal(listed[0].NotBefore))
			makeDue(t, db)
			report := once(t, maintenance(t, ob, pgoutbox.MaintenanceConfig{Retention: -1}))
			require.EqualValues(t, 1, report.Promoted)

			s := acquire(t, ob, "")
			got := readAll(t, s, 2)
			require.NoError(t, s.Release(t.Context()))
			require.Len(t, got, 5)
			require.Equal(t, want, got[0].Message)
			require.Equal(t, "plain", got[1].Topic)
			require.Empty(t, got[1].Payload)
			require.Equal(t, "batch", got[2].Topic)
			require.Equal(t, "beside", got[3].Topic)
			require.Equal(t, "delayed", got[4].Topic)
		})
	}
}
