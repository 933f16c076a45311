package pginbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI1_EveryQueryMode: poolers ask for modes in which parameters and results
// travel as text.
//
//leat:level 2
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

// TestI4_SettingsOfTheDatabase: what a database has set for its sessions keeps no message from
// being parked, listed and redriven, where results travel as text as well.
//
//leat:level 2
func TestI4_SettingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			db.Set(t, testenv.Unusual()...)
			cfg := db.Pool.Config()
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			in, err := pginbox.New(pool, "c", pginbox.Config{Config: inbox.Config{
				OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 2, Delay: inbox.NoDelay},
			}})
			require.NoError(t, err)
			handle := func(context.Context) error { return errors.New("cannot") }
			for range 3 {
				msg := message.NewMessage("m", []byte("\x00\xff\\"))
				msg.Metadata.Set("leat_key", "ключ")
				_, err = in.Process(t.Context(), msg, handle)
			}
			require.NoError(t, err)

			ad, err := pginbox.NewAdmin(pool, pginbox.Config{})
			require.NoError(t, err)
			parked, err := ad.Parked(t.Context(), admin.ParkedQuery{Consumer: "c"})
			require.NoError(t, err)
			require.Len(t, parked, 1)
			require.Equal(t, "\x00\xff\\", string(parked[0].Message.Payload))
			require.Equal(t, 2, parked[0].History.Attempts)
			require.WithinDuration(t, time.Now(), parked[0].History.First, time.Hour)
			require.WithinDuration(t, time.Now(), parked[0].ParkedAt, time.Hour)
			_, err = ad.Consumers(t.Context(), admin.ConsumersQuery{})
			require.NoError(t, err)
			_, err = ad.Lookup(t.Context(), admin.LookupQuery{ID: "m"})
			require.NoError(t, err)
			entries, err := ad.(admin.Auditor).Audit(t.Context(), admin.AuditQuery{Consumer: "c"})
			require.NoError(t, err)
			require.NotEmpty(t, entries)
		})
	}
}
