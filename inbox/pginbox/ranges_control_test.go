package pginbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// TestB6_ControlDefaultPartition: a DEFAULT partition takes in what was forgotten, and
// the message runs twice. Maintenance refuses an inbox that has one.
func TestB6_ControlDefaultPartition(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	id := madeAgo(10 * day)
	_, err = process(t, p, id, write(id))
	require.NoError(t, err)
	report := remember(t, env, 5*day, false)
	require.Len(t, report.Dropped, 1)
	_, err = process(t, p, id, write(id))
	require.ErrorIs(t, err, driver.ErrTooOld)
	require.Equal(t, 1, effects(t, env, id), "ours")

	_, err = env.Pool.Exec(t.Context(), `CREATE TABLE leat.other PARTITION OF leat.inbox_ranges DEFAULT`)
	require.NoError(t, err)
	_, err = process(t, p, id, write(id))
	require.NoError(t, err)
	require.Equal(t, 2, effects(t, env, id), "the forbidden form")
	_, err = maintenance(t, env, pginbox.MaintenanceConfig{}).RunOnce(t.Context())
	require.ErrorContains(t, err, "a DEFAULT partition lets old messages run twice")
}

// TestB6_ControlPartitionsByArrival: where the time of arrival decides on the place, the
// same id has two, and both are taken.
func TestB6_ControlPartitionsByArrival(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	_, err := env.Pool.Exec(t.Context(), `
		CREATE TABLE by_arrival (consumer smallint, id uuid, at timestamptz DEFAULT now(), PRIMARY KEY (consumer, id, at))
			PARTITION BY RANGE (at);
		CREATE TABLE all_of_it PARTITION OF by_arrival FOR VALUES FROM (MINVALUE) TO (MAXVALUE)`)
	require.NoError(t, err)
	id := madeAgo(0)
	for range 2 {
		err := pgx.BeginFunc(t.Context(), env.Pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(t.Context(), `INSERT INTO by_arrival VALUES (1, $1) ON CONFLICT DO NOTHING`, id)
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			_, err = tx.Exec(t.Context(), `INSERT INTO effects VALUES ($1)`, id)
			return err
		})
		require.NoError(t, err)
	}
	require.Equal(t, 2, effects(t, env, id), "the forbidden form")
}

// TestB6_ForgettingBlocksNoClaim holds a handler open, so that a range cannot go, and
// looks whether other claims get through meanwhile: behind our way to drop it, and
// behind a plain DROP.
func TestB6_ForgettingBlocksNoClaim(t *testing.T) {
	t.Parallel()
	for name, plain := range map[string]bool{"ours": false, "control: plain DROP": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{})
			p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
			require.NoError(t, err)
			for _, age := range []time.Duration{10 * day, 0} {
				_, err = process(t, p, madeAgo(age), nothing)
				require.NoError(t, err)
			}
			forgotten := make(chan error, 1)
			claimed := make(chan error, 1)
			outcome, err := process(t, p, madeAgo(0), func(ctx context.Context) error {
				go func() { forgotten <- forgetRange(t.Context(), env, plain) }()
				if plain {
					waitForLock(t, env, "DROP%", "relation")
				} else {
					waitForLock(t, env, "ALTER TABLE%CONCURRENTLY", "virtualxid")
				}
				go func() {
					_, err := p.Process(t.Context(), bare(madeAgo(0)), nothing)
					claimed <- err
				}()
				if plain {
					waitForLock(t, env, "%INSERT INTO%inbox_ranges%", "relation")
					return nil
				}
				require.NoError(t, <-claimed, "a claim was made while the range waits to go")
				claimed <- nil
				return ctx.Err()
			})
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeCommitted, outcome)
			require.NoError(t, <-forgotten)
			require.NoError(t, <-claimed)
		})
	}
}

// forgetRange drops the range of ten days ago.
func forgetRange(ctx context.Context, env *testenv.Database, plain bool) error {
	if !plain {
		m, err := pginbox.NewMaintenance(env.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{Retention: 5 * day, DetachTimeout: time.Hour})
		if err == nil {
			_, err = m.RunOnce(ctx)
		}
		return err
	}
	var table string
	err := env.Pool.QueryRow(ctx, `SELECT inhrelid::regclass::text FROM pg_inherits
		WHERE inhparent = 'leat.inbox_ranges'::regclass ORDER BY 1 LIMIT 1`).Scan(&table)
	if err == nil {
		_, err = env.Pool.Exec(ctx, `DROP TABLE `+table)
	}
	return err
}

// waitForLock waits until a statement waits for a lock.
func waitForLock(t *testing.T, env *testenv.Database, statement, kind string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waits bool
		err := env.Pool.QueryRow(t.Context(), `SELECT EXISTS (
			SELECT FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
			WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.query LIKE $1
				AND NOT l.granted AND l.locktype = $2)`, statement, kind).Scan(&waits)
		return err == nil && waits
	}, time.Minute, 10*time.Millisecond, "%s does not wait for a %s", statement, kind)
}

// TestClaimLocksOneRange: and so does the question whether an id was seen, since its
// values are in the text. With a plan for all values it locks every range.
func TestClaimLocksOneRange(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	_, err := maintenance(t, env, pginbox.MaintenanceConfig{Ahead: 60}).RunOnce(t.Context())
	require.NoError(t, err)
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	const seen = `SELECT EXISTS (SELECT FROM leat.inbox_ranges WHERE consumer = `
	id := madeAgo(0)
	_, err = process(t, p, id, func(ctx context.Context) error {
		require.Equal(t, 1, locked(ctx, t), "the claim")
		require.NoError(t, exec(ctx, seen+`1::smallint AND id = '`+id+`'::uuid)`))
		require.Equal(t, 1, locked(ctx, t), "the question")
		require.NoError(t, exec(ctx, `SET LOCAL plan_cache_mode = force_generic_plan`))
		require.NoError(t, exec(ctx, `PREPARE seen AS `+seen+`$1::smallint AND id = $2::uuid)`))
		require.NoError(t, exec(ctx, `EXECUTE seen (1, '`+id+`')`))
		if major, _, _ := strings.Cut(env.ServerVersion, "."); major < "18" { // which prunes before it locks
			require.Greater(t, locked(ctx, t), 60, "the forbidden form")
		}
		return nil
	})
	require.NoError(t, err)
}

// locked is the number of ranges that the delivery's transaction has locked.
func locked(ctx context.Context, t *testing.T) (n int) {
	t.Helper()
	err := pginbox.Tx(ctx).QueryRow(ctx, `SELECT count(DISTINCT l.relation) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
		WHERE l.pid = pg_backend_pid() AND c.relkind = 'r' AND c.relname ~ '^inbox_r[0-9a-f]{12}$'`).Scan(&n)
	require.NoError(t, err)
	return n
}
