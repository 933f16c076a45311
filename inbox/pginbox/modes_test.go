package pginbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI1_EveryQueryMode: poolers ask for modes in which parameters and results
// travel as text.
func TestI1_EveryQueryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			cfg, err := pgxpool.ParseConfig(db.URL)
			require.NoError(t, err)
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			defer pool.Close()
			in, err := pginbox.New(pool, "c", pginbox.Config{})
			require.NoError(t, err)

			for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
				got, err := in.Process(t.Context(), message.NewMessage("o'-1", nil), func(ctx context.Context) error {
					_, err := pginbox.Tx(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1)", "done")
					return err
				})
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			var effects int
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM effects").Scan(&effects))
			require.Equal(t, 1, effects)
		})
	}
}
