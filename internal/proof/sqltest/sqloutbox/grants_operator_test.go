package sqloutbox_test

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestGrantsOfAViewer: reading never writes, and needs only SELECT.
func TestGrantsOfAViewer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		root, as := documented(t, config, dialect)
		ob, err := sqloutbox.New(root, dialect, sqloutbox.Config{})
		require.NoError(t, err)
		withTrouble(t, ob)
		viewer, err := sqloutbox.New(as("viewer"), dialect, sqloutbox.Config{})
		require.NoError(t, err)
		ctx := t.Context()
		for name, look := range map[string]func(o *sqloutbox.Outbox) (any, error){
			"SchemaStatus": func(o *sqloutbox.Outbox) (any, error) { return o.SchemaStatus(ctx) },
			"Groups":       func(o *sqloutbox.Outbox) (any, error) { return o.Admin().Groups(ctx) },
			"Members":      func(o *sqloutbox.Outbox) (any, error) { return o.Admin().Members(ctx, "default") },
			"Held":         func(o *sqloutbox.Outbox) (any, error) { return o.Admin().Held(ctx, admin.HeldQuery{Group: "default"}) },
			"Dead":         func(o *sqloutbox.Outbox) (any, error) { return o.Admin().Dead(ctx, admin.HeldQuery{Group: "default"}) },
			"ParkedKeys": func(o *sqloutbox.Outbox) (any, error) {
				return o.Admin().ParkedKeys(ctx, admin.KeysQuery{Group: "default"})
			},
			"Failures": func(o *sqloutbox.Outbox) (any, error) {
				return o.Admin().Failures(ctx, admin.FailuresQuery{Group: "default"})
			},
			"Audit":   func(o *sqloutbox.Outbox) (any, error) { return o.Admin().Audit(ctx, admin.AuditQuery{}) },
			"Delayed": func(o *sqloutbox.Outbox) (any, error) { return o.Admin().Delayed(ctx, admin.DelayedQuery{}) },
			"Search":  func(o *sqloutbox.Outbox) (any, error) { return o.Admin().Search(ctx, admin.MessageQuery{}) },
			"Trace": func(o *sqloutbox.Outbox) (any, error) {
				return o.Admin().Trace(ctx, admin.TraceQuery{ID: "parked", Since: time.Now().Add(-time.Hour)})
			},
		} {
			want, err := look(ob)
			require.NoError(t, err, name)
			require.NotEmpty(t, want, name)
			got, err := look(viewer)
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
		}
		stats, err := viewer.Admin().Stats(ctx)
		require.NoError(t, err)
		require.Equal(t, []int{1, 1, 1}, []int{stats.Groups[0].Held, stats.Groups[0].Dead, stats.Delayed})
		err = viewer.Admin().SetMaxLag(ctx, admin.MaxLagRequest{By: me, Group: "default"})
		require.ErrorContains(t, err, "denied", "the control")
	})
}

var me = admin.By{Actor: "me", Reason: "test"}

// withTrouble parks a message, gives one up as dead, and delays one.
func withTrouble(t *testing.T, ob *sqloutbox.Outbox) {
	t.Helper()
	parked, dead, delayed := message("k", "parked"), message("l", "dead"), message("m", "delayed")
	parked.ID, dead.ID, delayed.ID = "parked", "dead", "delayed"
	delayed.NotBefore = time.Now().Add(time.Hour)
	commit(t, ob, parked, dead, delayed)
	s := acquire(t, ob, sqloutbox.SourceConfig{})
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	failed := []driver.Attempt{{Error: "no"}}
	require.NoError(t, s.(driver.Holder).Hold(t.Context(), page, 2, []driver.Holding{
		{Index: 0, Fate: driver.FatePark, Reason: "r", Attempts: failed}, {Index: 1, Fate: driver.FateDead, Reason: "r", Attempts: failed},
	}))
}

// TestGrantsOfAnOperator makes an operator's changes with the grants of docs/databases.md.
func TestGrantsOfAnOperator(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		root, as := documented(t, config, dialect)
		ob, err := sqloutbox.New(root, dialect, sqloutbox.Config{})
		require.NoError(t, err)
		withTrouble(t, ob)
		exec(t, root, "UPDATE leat_outbox_groups SET lease_until = 0")
		ob, err = sqloutbox.New(as("operator", "viewer"), dialect, sqloutbox.Config{})
		require.NoError(t, err)
		ctx := t.Context()
		one := func(changed admin.Changed, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, 1, changed.Count)
		}
		one(ob.Admin().Redrive(ctx, admin.ChangeRequest{By: me, Group: "default", Selection: admin.Selection{ID: "dead", Dead: true}}))
		one(ob.Admin().SkipHead(ctx, admin.SkipHeadRequest{By: me, Group: "default", Key: driver.Key{Topic: "t", Key: "k"}}))
		exec(t, root, "UPDATE leat_outbox_held SET state = 2") // parked
		one(ob.Admin().Drop(ctx, admin.ChangeRequest{By: me, Group: "default", Selection: admin.Selection{Topic: "t", Key: "l"}}))
		one(ob.Admin().CancelDelayed(ctx, admin.CancelRequest{By: me, ID: "delayed"}))
		require.NoError(t, ob.Admin().Pause(ctx, admin.PauseRequest{By: me, Group: "default", Topics: []string{"t"}}))
		require.NoError(t, ob.Admin().Resume(ctx, admin.PauseRequest{By: me, Group: "default"}))
		require.NoError(t, ob.Admin().SetMaxLag(ctx, admin.MaxLagRequest{By: me, Group: "default", MaxLag: time.Hour}))
		require.NoError(t, ob.Rebase(ctx, sqloutbox.RebaseRequest{By: me}))
		exec(t, root, "DELETE FROM leat_outbox WHERE seq = -1")
		require.NoError(t, ob.Rebase(ctx, sqloutbox.RebaseRequest{By: me}))
		_, err = ob.Admin().SetTopics(ctx, admin.GroupRequest{By: me, Group: "default", Topics: []string{"t"}})
		require.NoError(t, err)
		_, err = ob.Admin().RenameGroup(ctx, admin.GroupRequest{By: me, Group: "default", Name: "renamed"})
		require.NoError(t, err)
		_, err = ob.Admin().RemoveGroup(ctx, admin.GroupRequest{By: me, Group: "renamed"})
		require.NoError(t, err)
		h, err := ob.History(sqloutbox.HistoryConfig{})
		require.NoError(t, err)
		playback, err := h.Begin(ctx, driver.ReplayOrder{Actor: "me", Reason: "r"})
		require.NoError(t, err)
		records, err := playback.Read(ctx, 10)
		require.NoError(t, err)
		require.Len(t, records, 2)
		entries, err := ob.Admin().Audit(ctx, admin.AuditQuery{})
		require.NoError(t, err)
		require.Len(t, entries, 2+13, "what the relay has set aside, and all of these")
	})
}
