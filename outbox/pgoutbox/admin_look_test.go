package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// search pages through what q selects and returns the payloads.
func search(t *testing.T, ob *pgoutbox.Outbox, q admin.MessageQuery) []string {
	t.Helper()
	var found []string
	for {
		page, err := ob.Admin().Search(t.Context(), q)
		require.NoError(t, err)
		found = append(found, payloads(page.Records)...)
		if page.Next == 0 {
			return found
		}
		require.NotEqual(t, q.After, page.Next, "it does not go on")
		q.After = page.Next
	}
}

// TestSearch_ByTime finds messages by the time of their Enqueue, in both directions.
func TestSearch_ByTime(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	require.Empty(t, search(t, ob, admin.MessageQuery{Newest: true}), "an empty log")
	put(t, ob, "a", "1", "2", "3", "4", "5")
	exec(t, db, "UPDATE leat.outbox SET created_at = '2026-01-01'::timestamptz + seq * interval '1 day'")
	day := func(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }
	for name, tt := range map[string]struct {
		from, to time.Time
		want     []string
	}{
		"from":     {day(3), time.Time{}, []string{"3", "4", "5"}},
		"to":       {time.Time{}, day(3), []string{"1", "2"}},
		"between":  {day(2), day(5), []string{"2", "3", "4"}},
		"moment":   {day(2), day(2).Add(time.Microsecond), []string{"2"}},
		"before":   {time.Time{}, day(0), nil},
		"too late": {day(9), time.Time{}, nil},
	} {
		require.Equal(t, tt.want, search(t, ob, admin.MessageQuery{From: tt.from, To: tt.to, Limit: 2}), name)
		require.ElementsMatch(t, tt.want, search(t, ob, admin.MessageQuery{From: tt.from, To: tt.to, Limit: 2, Newest: true}), name)
	}
	for _, q := range []admin.MessageQuery{{Limit: -1}, {Scan: -1}, {After: -1}, {Topic: "\xff"}, {From: day(2), To: day(1)}} {
		_, err := ob.Admin().Search(t.Context(), q)
		require.ErrorIs(t, err, admin.ErrInvalidRequest)
	}
}

// TestSearch_Large: a page ends once its payloads have reached 32 MiB, and the next one continues from
// there.
func TestSearch_Large(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `INSERT INTO leat.outbox (id, shard, topic, payload)
		SELECT gen_random_uuid(), 0, 'large', convert_to(repeat('x', 12 * 1024 * 1024), 'UTF8') FROM generate_series(1, 5)`)
	page, err := ob.Admin().Search(t.Context(), admin.MessageQuery{})
	require.NoError(t, err)
	require.Len(t, page.Records, 3)
	require.Equal(t, page.Records[2].Seq, page.Next)
	require.Len(t, search(t, ob, admin.MessageQuery{Newest: true}), 5)
}

// TestTrace follows messages through the log, through a group that sets them aside, and through one that
// reads other topics.
func TestTrace(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	holdingOf(t, h.ob, h.db, "other")
	exec(t, h.db, `UPDATE leat.outbox_groups SET topics = '{mails}' WHERE relay_group = 'other'`)
	ids := map[string]string{"sent": "", "parked": "", "waits": "", "dead": "", "skipped": "", "dropped": "", "pending": ""}
	put(t, h.ob, "a", "sent", "parked", "waits", "dead", "skipped", "dropped")
	h.hold(driver.FateDelivered, driver.FatePark, driver.FateWait, driver.FateDead, driver.FateSkip, driver.FatePark)
	put(t, h.ob, "b", "pending")
	page, err := h.ob.Admin().Search(t.Context(), admin.MessageQuery{})
	require.NoError(t, err)
	for _, r := range page.Records {
		ids[string(r.Payload)] = r.ID
	}
	_, err = h.ob.Admin().Drop(t.Context(), admin.ChangeRequest{By: people(), Selection: admin.Selection{ID: ids["dropped"]}})
	require.NoError(t, err)
	for name, want := range map[string]admin.TraceState{
		"sent": admin.TraceSent, "parked": admin.TraceHeld, "waits": admin.TraceHeld, "dead": admin.TraceDead,
		"skipped": admin.TraceDropped, "dropped": admin.TraceDropped, "pending": admin.TracePending,
	} {
		trace, err := h.ob.Admin().Trace(t.Context(), admin.TraceQuery{ID: ids[name]})
		require.NoError(t, err)
		require.Len(t, trace.Messages, 1, name)
		require.Equal(t, name, string(trace.Messages[0].Payload))
		require.Equal(t, []admin.GroupTrace{{Group: "default", State: want}, {Group: "other", State: admin.TraceFiltered}}, trace.Messages[0].Groups, name)
		require.Equal(t, want == admin.TraceHeld, len(trace.Held) == 1, name)
		require.Equal(t, want == admin.TraceDead, len(trace.Dead) == 1, name)
		if want == admin.TraceHeld {
			require.Equal(t, []any{"default", admin.HeldParked, name == "waits"}, []any{trace.Held[0].Group, trace.Held[0].State, trace.Held[0].Waits})
		}
	}
}

// TestTrace_LongAfterItsID: a message is found even if it was enqueued long after its id was made.
func TestTrace_LongAfterItsID(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	const old = "0190d1d8-0000-7000-8000-000000000001" // of 2024
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{ID: old, Topic: "t"})
	}))
	trace, err := ob.Admin().Trace(t.Context(), admin.TraceQuery{ID: old})
	require.NoError(t, err)
	require.Len(t, trace.Messages, 1)
	require.Empty(t, trace.Messages[0].Groups, "no relay has begun")
}

// TestRanges lists the ranges, each with the groups that have not read it yet.
func TestRanges(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	ranges, err := h.ob.Admin().Ranges(t.Context())
	require.NoError(t, err)
	require.Len(t, ranges, 5)
	require.Equal(t, []any{"outbox_p1", int64(1), int64(10_000_001)}, []any{ranges[0].Table, ranges[0].From, ranges[0].To})
	require.Positive(t, ranges[0].Bytes)
	require.Equal(t, []string{"default"}, ranges[0].PinnedBy)
	require.True(t, ranges[4].Open())
	require.Empty(t, ranges[4].PinnedBy)
	h.hold(driver.FatePark, driver.FateWait)
	require.NoError(t, h.Release(t.Context()))
	ranges, err = h.ob.Admin().Ranges(t.Context())
	require.NoError(t, err)
	require.Empty(t, ranges[0].PinnedBy, "what is held pins nothing")
}

// TestMembers lists the leader and every member whose last sign of life is still valid.
func TestMembers(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	_, err := h.ob.Admin().Members(t.Context(), "none")
	require.ErrorIs(t, err, admin.ErrNoSuchGroup)
	members, err := h.ob.Admin().Members(t.Context(), "default")
	require.NoError(t, err)
	require.Len(t, members, 1)
	require.Equal(t, []int{0}, members[0].Slots)
	require.Contains(t, h.owner(), members[0].Name+"/")
	require.Zero(t, members[0].WantedSlots)

	_, err = h.db.Pool.Exec(t.Context(), `INSERT INTO leat.outbox_members (relay_group, member, slots, seen_until) VALUES
		('default', $1, 4, clock_timestamp() + interval '1 minute'), ('default', 'standby', 4, clock_timestamp() + interval '1 minute'),
		('default', 'gone', 4, clock_timestamp() - interval '1 minute'), ('other', 'else', 4, clock_timestamp() + interval '1 minute')`, members[0].Name)
	require.NoError(t, err)
	both, err := h.ob.Admin().Members(t.Context(), "default")
	require.NoError(t, err)
	require.Len(t, both, 2)
	for _, m := range both {
		require.Equal(t, 4, m.WantedSlots)
		require.WithinDuration(t, time.Now(), m.Since, time.Minute)
		require.WithinDuration(t, time.Now().Add(time.Minute), m.Until, 30*time.Second)
		require.Equal(t, m.Name == "standby", len(m.Slots) == 0)
	}
}

// TestO15_LookingNeedsSelectOnly: an operator with only SELECT sees everything and can change nothing, not
// even in a dry run.
func TestO15_LookingNeedsSelectOnly(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	put(t, h.ob, "a", "1", "2")
	h.hold(driver.FatePark, driver.FateWait)
	viewer := outboxOfRole(t, h.db, []string{"SELECT ON ALL TABLES IN SCHEMA leat", "SELECT ON SEQUENCE leat.outbox_seq_seq"}, "")
	// A range that maintenance has added since has no rights of its own.
	exec(t, h.db, `ALTER TABLE leat.outbox DETACH PARTITION leat.outbox_tail;
		CREATE TABLE leat.outbox_p5 PARTITION OF leat.outbox FOR VALUES FROM (40000001) TO (50000001);
		ALTER TABLE leat.outbox ATTACH PARTITION leat.outbox_tail FOR VALUES FROM (50000001) TO (MAXVALUE)`)
	ctx := t.Context()
	require.Len(t, statsOf(t, viewer).Groups, 1)
	for name, look := range map[string]func() (int, error){
		"Groups":     func() (int, error) { return counted(viewer.Admin().Groups(ctx)) },
		"Members":    func() (int, error) { return counted(viewer.Admin().Members(ctx, "default")) },
		"Held":       func() (int, error) { return counted(viewer.Admin().Held(ctx, admin.HeldQuery{})) },
		"ParkedKeys": func() (int, error) { return counted(viewer.Admin().ParkedKeys(ctx, admin.KeysQuery{})) },
		"Failures":   func() (int, error) { return counted(viewer.Admin().Failures(ctx, admin.FailuresQuery{})) },
		"Audit":      func() (int, error) { return counted(viewer.Admin().Audit(ctx, admin.AuditQuery{})) },
		"Ranges":     func() (int, error) { return counted(viewer.Admin().Ranges(ctx)) },
		"Search": func() (int, error) {
			page, err := viewer.Admin().Search(ctx, admin.MessageQuery{})
			return len(page.Records), err
		},
		"dry run": func() (int, error) {
			changed, err := viewer.Admin().Drop(ctx, admin.ChangeRequest{By: people(), Selection: admin.Selection{Topic: topic, Key: "a"}, DryRun: true})
			return changed.Count, err
		},
	} {
		n, err := look()
		require.NoError(t, err, name)
		require.Positive(t, n, name)
	}
	for _, q := range []func() (int, error){
		func() (int, error) { return counted(viewer.Admin().Dead(ctx, admin.HeldQuery{})) },
		func() (int, error) { return counted(viewer.Admin().Delayed(ctx, admin.DelayedQuery{})) },
	} {
		n, err := q()
		require.NoError(t, err)
		require.Zero(t, n)
	}
	page, err := viewer.Admin().Search(ctx, admin.MessageQuery{})
	require.NoError(t, err)
	_, err = viewer.Admin().Trace(ctx, admin.TraceQuery{ID: page.Records[0].ID})
	require.NoError(t, err)
	_, err = viewer.Admin().Drop(ctx, admin.ChangeRequest{By: people(), Selection: admin.Selection{Topic: topic, Key: "a"}})
	require.Error(t, err)
	require.Equal(t, 2, query1[int](t, h.db, "SELECT count(*) FROM leat.outbox_held"))
}

func counted[T any](all []T, err error) (int, error) {
	return len(all), err
}
