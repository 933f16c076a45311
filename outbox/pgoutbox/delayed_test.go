package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// maintenance returns a Maintenance of ob.
func maintenance(tb testing.TB, ob *pgoutbox.Outbox, cfg pgoutbox.MaintenanceConfig) *pgoutbox.Maintenance {
	tb.Helper()
	m, err := pgoutbox.NewMaintenance(ob, cfg)
	require.NoError(tb, err)
	return m
}

// once runs one round of maintenance.
func once(t *testing.T, m *pgoutbox.Maintenance) admin.MaintenanceReport {
	t.Helper()
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	return report
}

// delayedBy returns messages of key that are due at the given time.
func delayedBy(key string, at time.Time, names ...string) []outbox.Message {
	msgs := keyed(key, names...)
	for i := range msgs {
		msgs[i].NotBefore = at
	}
	return msgs
}

// later returns a time after the end of every test.
func later() time.Time { return time.Now().Add(time.Hour).Truncate(time.Microsecond) }

// makeDue makes all delayed messages due.
func makeDue(t *testing.T, db *testenv.Database) {
	t.Helper()
	exec(t, db, "UPDATE leat.outbox_delayed SET not_before = clock_timestamp() - interval '1 hour'")
}

// TestO1_DelayedExistsIffCommitted tries every way into the outbox: a delayed message is stored with the
// rest of its transaction or not at all.
func TestO1_DelayedExistsIffCommitted(t *testing.T) {
	t.Parallel()
	for name, open := range entries() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			s := acquire(t, ob, "")
			for _, commit := range []bool{false, true} {
				e := open(t, ob, db)
				msgs := append(keyed("k", "now"), delayedBy("k", later(), "later")...)
				msgs = append(msgs, delayedBy("k", time.Now().Add(-time.Hour), "past")...)
				require.NoError(t, e.enqueue(t.Context(), msgs...))
				require.NoError(t, e.end(commit))
			}
			require.Equal(t, []string{"now", "past"}, payloads(readAll(t, s, 10)))
			require.Equal(t, 1, query1[int](t, db, "SELECT count(*) FROM leat.outbox_delayed"))

			m := maintenance(t, ob, pgoutbox.MaintenanceConfig{})
			require.Zero(t, once(t, m).Promoted, "not due yet")
			makeDue(t, db)
			require.EqualValues(t, 1, once(t, m).Promoted)
			require.Zero(t, once(t, m).Promoted)
			require.Equal(t, []string{"later"}, payloads(readAll(t, s, 10)))
		})
	}
}

// TestO1_DelayedWithoutItsTable: without the table of delayed messages, only messages without a delay can
// be enqueued.
func TestO1_DelayedWithoutItsTable(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, "DROP TABLE leat.outbox_delayed; DELETE FROM leat.outbox_migrations")
	put(t, ob, "k", "now")
	tx := begin(t, ob, db)
	require.ErrorIs(t, ob.Enqueue(t.Context(), tx.Tx, delayedBy("k", later(), "later")...), outbox.ErrNotMigrated)
	tx.rollback()
	require.Equal(t, 1, stored(t, db))

	_, err := ob.Admin().Delayed(t.Context(), admin.DelayedQuery{})
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{})
	_, err = m.RunOnce(t.Context())
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	require.ErrorIs(t, m.Run(t.Context()), outbox.ErrNotMigrated)
}

// TestO4_DelayedKeepsEveryField: a delayed message is sent exactly as it was enqueued; unless it is set,
// its OccurredAt is the time of the Enqueue.
func TestO4_DelayedKeepsEveryField(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	at, occurred := later(), time.Date(2026, 3, 4, 5, 6, 7, 891234000, time.UTC)
	msgs := []outbox.Message{
		{ID: "0190d1d8-0000-7000-8000-000000000001", Topic: "a", Key: "k", Type: "t", Payload: []byte("x\x00y"), Headers: map[string]string{"h": "ü"}, OccurredAt: occurred, NotBefore: at},
		{ID: "01J5ULID", Topic: "b", Payload: []byte{}, NotBefore: at},
	}
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, msgs...)
	}))
	listed, err := ob.Admin().Delayed(t.Context(), admin.DelayedQuery{})
	require.NoError(t, err)
	require.Len(t, listed, 2)
	makeDue(t, db)
	require.EqualValues(t, 2, once(t, maintenance(t, ob, pgoutbox.MaintenanceConfig{})).Promoted)
	got := readAll(t, acquire(t, ob, ""), 10)
	require.Len(t, got, 2)
	for i, r := range got {
		want := msgs[i]
		require.True(t, at.Equal(listed[i].NotBefore))
		want.NotBefore = time.Time{}
		want.OccurredAt = r.OccurredAt
		require.Equal(t, want, r.Message)
		listed[i].NotBefore, listed[i].OccurredAt = time.Time{}, r.OccurredAt
		require.Equal(t, want, listed[i].Message)
	}
	require.True(t, occurred.Equal(got[0].OccurredAt))
	require.True(t, listed[1].CreatedAt.Equal(got[1].OccurredAt))
	require.True(t, got[1].CreatedAt.After(listed[1].CreatedAt))
}

// TestO5_WholeOutboxLocked: a call with more keys than MaxKeyLocks holds up every key.
func TestO5_WholeOutboxLocked(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{MaxKeyLocks: 1})
	tx := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), tx.Tx, delayedBy("a", later(), "a", "b")...))
	tx.commit()
	makeDue(t, db)
	open := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), open.Tx, append(keyed("x", "1"), keyed("y", "2")...)...))
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{})
	require.Zero(t, once(t, m).Promoted)
	open.commit()
	require.EqualValues(t, 2, once(t, m).Promoted)
}

// TestO2_CancelDelayed: a message that is not due yet can be cancelled, which the audit records.
func TestO2_CancelDelayed(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ids := []string{"0190d1d8-0000-7000-8000-000000000001", "reminder 2", "reminder 3"}
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		for i, id := range ids {
			m := delayedBy("k", later().Add(time.Duration(i)*time.Minute), id)[0]
			m.ID = id
			if err := ob.Enqueue(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, id := range ids[:2] {
		cancel := admin.CancelRequest{By: admin.By{Actor: "ann", Reason: "paid"}, ID: id, DryRun: true}
		done, err := ob.Admin().CancelDelayed(t.Context(), cancel)
		require.NoError(t, err)
		require.Equal(t, admin.Changed{Count: 1, IDs: []string{id}}, done, "a dry run")
		cancel.DryRun = false
		for _, want := range []int{1, 0} {
			done, err := ob.Admin().CancelDelayed(t.Context(), cancel)
			require.NoError(t, err)
			require.Equal(t, want, done.Count, id)
			require.Len(t, done.IDs, want)
		}
	}
	_, err := ob.Admin().CancelDelayed(t.Context(), admin.CancelRequest{By: admin.By{Actor: "ann"}, ID: ids[2]})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
	require.Equal(t, 2, query1[int](t, db, `SELECT count(*) FROM leat.outbox_audit
		WHERE action = 'cancel_delayed' AND actor = 'ann' AND reason = 'paid' AND id IN ('0190d1d8-0000-7000-8000-000000000001', 'reminder 2')`))

	put(t, ob, "k", "x")
	page, err := ob.Admin().Delayed(t.Context(), admin.DelayedQuery{Topic: "events", Key: "k", ID: ids[2], Limit: 1})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, ids[2], page[0].ID)
	page, err = ob.Admin().Delayed(t.Context(), admin.DelayedQuery{After: &page[0]})
	require.NoError(t, err)
	require.Empty(t, page)
	_, err = ob.Admin().Delayed(t.Context(), admin.DelayedQuery{Limit: -1})
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
}

// TestO14_DelayedIsSentAtItsTime: Run moves a message when it is due: not earlier, and not a whole poll
// later.
func TestO14_DelayedIsSentAtItsTime(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	at := time.Now().Add(time.Second)
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, delayedBy("k", at, "later")...)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	m := maintenance(t, ob, pgoutbox.MaintenanceConfig{DelayedPoll: time.Hour})
	go func() { done <- m.Run(ctx) }()
	await(t, "it is moved", func() bool { return stored(t, db) == 1 })
	late := query1[float64](t, db, "SELECT extract(epoch FROM created_at - $1) FROM leat.outbox", at)
	require.Positive(t, late)
	t.Logf("%.3f s late", late)
	cancel()
	require.NoError(t, <-done)
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM leat.outbox_leases WHERE owner IS NOT NULL"))
}

// TestO2_PrivilegesOfADelay: a producer that delays messages needs only INSERT on the columns that it
// sets.
func TestO2_PrivilegesOfADelay(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	role := "leat_test_" + db.Name[len(db.Name)-12:]
	const given = "id, shard, id_text, topic, key, type, payload, headers, occurred_at"
	exec(t, db, `CREATE ROLE "`+role+`"`)
	t.Cleanup(func() { dropRole(t, db, role) })
	exec(t, db, `GRANT USAGE ON SCHEMA leat TO "`+role+`"; GRANT SELECT ON leat.outbox_meta TO "`+role+`";
		GRANT INSERT (`+given+`) ON leat.outbox TO "`+role+`";
		GRANT INSERT (not_before, `+given+`) ON leat.outbox_delayed TO "`+role+`"`)
	tx := begin(t, ob, db).exec(`SET LOCAL ROLE "` + role + `"`)
	require.NoError(t, ob.Enqueue(t.Context(), tx.Tx, append(keyed("k", "now"), delayedBy("k", later(), "later")...)...))
	tx.commit()
	require.Equal(t, 1, stored(t, db))
}
