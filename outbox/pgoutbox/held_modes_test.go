package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO4_HeldInEveryQueryMode: setting records aside and the operators' commands work in query modes that
// send everything as text, and in a database that defaults to another isolation level and to asynchronous
// commits.
//
//leat:level 2
func TestO4_HeldInEveryQueryMode(t *testing.T) {
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
			cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
			cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			ob, err := pgoutbox.New(pool, pgoutbox.Config{AllowAsyncCommit: true})
			require.NoError(t, err)
			setAsideAndBack(t, holdingOf(t, ob, db, "default"))
		})
	}
}

// setAsideAndBack uses every statement of the held queue once.
func setAsideAndBack(t *testing.T, h *holding) {
	t.Helper()
	ctx := t.Context()
	put(t, h.ob, "it's \\ {a,\"b\"}", "1", "2", "3")
	put(t, h.ob, "", "4", "5")
	page := h.page(5)
	require.NoError(t, h.Hold(ctx, page, 5, holdings(driver.FatePark, driver.FateWait, driver.FateWait, driver.FateDead, driver.FateRetry)))
	keys, err := h.HeldKeys(ctx)
	require.NoError(t, err)
	require.Equal(t, []driver.Key{keyNamed("it's \\ {a,\"b\"}")}, keys)
	_, err = h.ob.Admin().SkipHead(ctx, admin.SkipHeadRequest{By: people(), Key: keys[0]})
	require.NoError(t, err)
	require.Equal(t, []string{"2", "3", "5"}, h.due("other's"))
	h.resolve(driver.FatePark)
	parked, err := h.ob.Admin().Held(ctx, admin.HeldQuery{State: admin.HeldParked, Topic: "ev*", Key: keys[0].Key})
	require.NoError(t, err)
	require.Len(t, parked, 2)
	require.Equal(t, page.Records[1], parked[0].Record)
	for _, s := range []admin.Selection{
		{Topics: "ev*", Kind: "unknown", Before: time.Now().Add(time.Hour)},
		{Topics: "ev*", Dead: true},
	} {
		changed, err := h.ob.Admin().Redrive(ctx, admin.ChangeRequest{By: people(), Selection: s})
		require.NoError(t, err)
		require.Equal(t, 1, changed.Count)
	}
	require.Equal(t, keys, h.resolve(driver.FateDelivered, driver.FateDelivered, driver.FateDead, driver.FateSkip))
	changed, err := h.ob.Admin().Drop(ctx, admin.ChangeRequest{By: people(), Selection: admin.Selection{ID: page.Records[3].ID}})
	require.NoError(t, err)
	require.Equal(t, 1, changed.Count)
	require.NoError(t, h.ob.Admin().SetMaxLag(ctx, admin.MaxLagRequest{By: people(), Group: "default", MaxLag: time.Hour}))
	groups, err := h.ob.Admin().Groups(ctx)
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Zero(t, statsOf(t, h.ob).Groups[0].Held)
	require.NoError(t, h.Release(ctx))
	_, err = h.ob.Admin().RemoveGroup(ctx, admin.GroupRequest{By: people(), Group: "default"})
	require.NoError(t, err)
	require.Equal(t, []string{"park", "dead", "skip_head", "park", "redrive", "redrive", "dead", "skip", "drop", "set_max_lag", "remove_group"}, h.actions())
}

// actions returns the actions in the audit, without keys.
func (h *holding) actions() []string {
	h.t.Helper()
	entries, err := h.ob.Admin().Audit(h.t.Context(), admin.AuditQuery{})
	require.NoError(h.t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Action)
	}
	return all
}
