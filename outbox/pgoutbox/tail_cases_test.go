package pgoutbox_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestTail tests early records, the work of a tail, and how it ends when something fails, on one server.
func TestTail(t *testing.T) {
	t.Parallel()
	server := logical(t)
	for _, c := range []struct {
		name string
		test func(t *testing.T, server *testenv.PostgresServer)
	}{
		{"check", tailCheck},
		{"poison", tailPoison},
		{"not joined before older transactions end", tailJoin},
		{"open transaction elsewhere", tailOpenElsewhere},
		{"table out of the publication", tailUnpublished},
		{"walsender terminated", tailTerminated},
		{"columns changed", tailColumnsChanged},
		{"too many wait", tailBehind},
		{"range attached", tailAttached},
		{"the same records", tailSame},
		{"another database", tailElsewhere},
		{"stopped with pages read ahead", tailReadAhead},
		{"a role of its own", tailRole},
		{"prepared transactions", tailPrepared},
		{"savepoints", tailSavepoints},
		{"spilled transaction", tailSpilled},
		{"ranges made by maintenance", tailRanges},
		{"publication made anew", tailPublishedAnew},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, server)
		})
	}
	t.Run("suite", func(t *testing.T) {
		t.Parallel()
		outboxtest.RunTail(t, features(), func(t *testing.T) outboxtest.Follower { return newTailSubject(t, server) })
	})
}

// tailSame: a record that arrives early equals the one that a window reads.
func tailSame(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute})
	msgs := []outbox.Message{
		{ID: "order-1 placed", Topic: "orders", Key: "k", Type: "placed", Payload: []byte{0, 255, 10}, Headers: map[string]string{"a": "b", "é": "\"\\"}, OccurredAt: time.Unix(1, 2000).UTC()},
		{Topic: "orders", Payload: []byte{}},
		{Topic: "orders", Payload: make([]byte, 200_000)},
	}
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, msgs...) }))
	var early []outbox.Record
	for len(early) < len(msgs) {
		page := s.awaitPage()
		require.True(t, page.Early)
		early = append(early, page.Records...)
	}
	other := acquireFrom(t, sourceOf(t, ob, pgoutbox.SourceConfig{Group: "other", Start: driver.Start{Oldest: true}}))
	require.Equal(t, readAll(t, other, 10), early)
	require.Equal(t, 3, stored(t, db))
}

// tailElsewhere: commits in another database of the same form are never sent.
func tailElsewhere(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, _ := tailed(t, server)
	other, otherDB := tailed(t, server)
	s := follow(t, ob, pgoutbox.TailConfig{URL: otherDB.URL, Look: 10 * time.Millisecond})
	event := s.events.next(t)
	require.False(t, event.Follows)
	require.ErrorContains(t, event.Err, "not to the outbox's server and database")
	foreign(t, other, otherDB, "a", "phantom")
	require.Empty(t, s.read().Records)
	require.Zero(t, query1[int](t, otherDB, "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"))
}

// tailReadAhead: a stop in mid-stream, with a page that was read ahead and not sent, repeats no record
// that was sent before.
func tailReadAhead(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute})
	foreign(t, ob, db, "a", "sent")
	s.settle(s.awaitPage())
	foreign(t, ob, db, "a", "ahead")
	require.True(t, s.awaitPage().Early)
	require.NoError(t, s.session().Release(t.Context()))
	require.Equal(t, []string{"ahead"}, payloads(readAll(t, acquire(t, ob, "default"), 10)))
}

// tailPoison: a page that was withdrawn is read again from a window, without the acknowledged records and
// followed by those that were committed since; then its records can be held.
func tailPoison(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute})
	foreign(t, ob, db, "a", "a1")
	settled := s.awaitPage()
	s.settle(settled)
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, append(keyed("a", "a2"), append(keyed("b", "b1"), keyed("a", "a3")...)...)...)
	}))
	page := s.awaitPage()
	require.True(t, page.Early)
	require.Equal(t, []string{"a2", "b1", "a3"}, payloads(page.Records), "the stream wakes once a transaction")
	require.True(t, s.Current(page))
	require.Error(t, s.session().(driver.Holder).Hold(t.Context(), page, 1, nil), "an early page cannot be held")
	s.Withdraw(page, []int{1})
	require.False(t, s.Current(page))
	require.ErrorContains(t, s.events.next(t).Err, "could not be delivered")
	foreign(t, ob, db, "a", "a4")
	again := s.awaitPage()
	require.False(t, again.Early)
	require.Equal(t, []string{"a2", "a3", "a4"}, payloads(again.Records))
	require.NoError(t, s.session().(driver.Holder).Hold(t.Context(), again, 3, []driver.Holding{
		{Index: 0, Fate: driver.FatePark, Reason: "poison"}, {Index: 1, Fate: driver.FateWait}, {Index: 2, Fate: driver.FateWait},
	}))
}

// tailJoin: a transaction older than the stream may commit before the stream begins and become visible
// afterwards. So the tail returns nothing until each such transaction has ended.
func tailJoin(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := follow(t, ob, pgoutbox.TailConfig{Look: 10 * time.Millisecond})
	require.True(t, s.events.next(t).Follows)
	older := begin(t, ob, db).put("a", "older")
	for i := range 5 {
		foreign(t, ob, db, "b", strconv.Itoa(i))
		page := s.awaitPage()
		require.False(t, page.Early)
		require.False(t, pgoutbox.IsJoined(s.session()))
		s.settle(page)
	}
	older.commit()
	page := s.awaitPage()
	require.Equal(t, []string{"older"}, payloads(page.Records))
	s.settle(page)
	s.join()
}

// tailOpenElsewhere: while a transaction of another database writes, the slot cannot be created. The relay
// reads all the same.
func tailOpenElsewhere(t *testing.T, _ *testenv.PostgresServer) {
	t.Helper()
	server := logical(t) // of its own: all others would wait, too
	ob, db := tailed(t, server)
	other := server.Database(t)
	tx, err := other.Connect(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT pg_current_xact_id()")
	require.NoError(t, err)
	s := follow(t, ob, pgoutbox.TailConfig{Look: 10 * time.Millisecond})
	await(t, "the slot waits", func() bool {
		return query1[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leat tail%' AND wait_event_type = 'Lock'") == 1
	})
	foreign(t, ob, db, "a", "a1")
	page := s.read()
	require.Equal(t, []string{"a1"}, payloads(page.Records))
	s.settle(page)
	require.NoError(t, tx.Commit(t.Context()))
	require.True(t, s.events.next(t).Follows)
	s.join()

	// A standby that commits wait for, and that is unavailable.
	exec(t, db, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	exec(t, db, "SELECT pg_reload_conf()")
	await(t, "the tail is given up", func() bool {
		_ = s.read()
		return !pgoutbox.IsJoined(s.session())
	})
	require.ErrorContains(t, s.events.next(t).Err, "synchronous_standby_names is set")
	exec(t, db, "ALTER SYSTEM RESET synchronous_standby_names")
	exec(t, db, "SELECT pg_reload_conf()")
}

// tailAttached: PostgreSQL 14 does not notice that a table is attached if it has seen a row of it before.
// The windows find the table's rows, and the tail that has missed them is replaced.
func tailAttached(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: 10 * time.Millisecond})
	foreign(t, ob, db, "a", "before")
	page := s.awaitPage()
	s.settle(page)
	for _, statement := range []string{
		"ALTER TABLE leat.outbox DETACH PARTITION leat.outbox_tail",
		"CREATE TABLE leat.outbox_new (LIKE leat.outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)",
		"INSERT INTO leat.outbox_new (seq, id, shard, topic, payload) VALUES (50000000, gen_random_uuid(), 0, 'none', '')",
		"DELETE FROM leat.outbox_new",
		"ALTER TABLE leat.outbox ATTACH PARTITION leat.outbox_new FOR VALUES FROM (40000001) TO (MAXVALUE)",
		"SELECT setval(pg_get_serial_sequence('leat.outbox', 'seq'), 40000001)",
	} {
		exec(t, db, statement)
	}
	for i := range 5 {
		foreign(t, ob, db, "a", strconv.Itoa(i))
		page := s.awaitPolled()
		require.Equal(t, []string{strconv.Itoa(i)}, payloads(page.Records))
		s.settle(page)
	}
	if strings.HasPrefix(server.Version(), "14.") {
		await(t, "the tail is replaced", func() bool { return len(s.read().Records) == 0 && len(s.events) > 0 })
		require.ErrorContains(t, s.events.next(t).Err, "has missed")
	}
}

// tailUnpublished: rows inserted while the table was not published never arrive, and the stream does not
// report that. Windows find them, whatever the tail says. This is why the silence of a tail must not be
// taken for an empty log.
func tailUnpublished(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: 10 * time.Millisecond})
	exec(t, db, "ALTER PUBLICATION leat DROP TABLE leat.outbox")
	foreign(t, ob, db, "a", "silent")
	page := s.awaitPolled()
	require.False(t, page.Early)
	require.Equal(t, []string{"silent"}, payloads(page.Records))
	s.settle(page)
	_ = s.read()
	require.ErrorContains(t, s.events.next(t).Err, "does not publish the table")
	exec(t, db, "ALTER PUBLICATION leat ADD TABLE leat.outbox")
	for event := s.events.next(t); !event.Follows; event = s.events.next(t) {
		require.ErrorContains(t, event.Err, "does not publish the table")
	}
	s.join()
	foreign(t, ob, db, "a", "heard")
	require.Equal(t, []string{"heard"}, payloads(s.awaitPolled().Records))
}

// tailTerminated: a connection that is cut ends the tail and leaves no slot behind, and a new tail
// follows. Messages committed in between are read by a window.
func tailTerminated(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute})
	foreign(t, ob, db, "a", "a1")
	s.settle(s.awaitPage())
	ours := "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
	require.Equal(t, 1, query1[int](t, db, ours))
	exec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender' AND datname = current_database()")
	require.Error(t, s.events.next(t).Err)
	foreign(t, ob, db, "a", "a2")
	page := s.awaitPolled()
	require.Equal(t, []string{"a2"}, payloads(page.Records))
	s.settle(page)
	require.True(t, s.events.next(t).Follows)
	s.join()
	foreign(t, ob, db, "a", "a3")
	page = s.awaitPage()
	require.True(t, page.Early)
	s.settle(page)
	require.NoError(t, s.session().Release(t.Context()))
	await(t, "the slot is gone", func() bool { return query1[int](t, db, ours) == 0 })
	require.Empty(t, readAll(t, acquire(t, ob, "default"), 10))
}

// tailColumnsChanged: columns are identified by name.
func tailColumnsChanged(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute})
	foreign(t, ob, db, "a", "a1")
	s.settle(s.awaitPage())
	exec(t, db, "ALTER TABLE leat.outbox ADD COLUMN extra int DEFAULT 7")
	foreign(t, ob, db, "a", "a2")
	page := s.awaitPage()
	require.True(t, page.Early)
	require.Equal(t, []string{"a2"}, payloads(page.Records))
}

// tailBehind: a tail with too many waiting rows is dropped, and nothing is lost.
func tailBehind(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, _ := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{MaxRows: 100})
	msgs := make([]outbox.Message, 500)
	for i := range msgs {
		msgs[i] = outbox.Message{Topic: "events", Key: "k", Payload: []byte(strconv.Itoa(i))}
	}
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, msgs...) }))
	require.ErrorContains(t, s.events.next(t).Err, "fallen behind")
	var got []string
	for len(got) < len(msgs) {
		page := s.awaitPolled()
		got = append(got, payloads(page.Records)...)
		s.settle(page)
	}
	for i := range got {
		require.Equal(t, strconv.Itoa(i), got[i])
	}
}

// TestTail_Refused: an unsuitable server is logged once, and the relay polls instead.
func TestTail_Refused(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	s := follow(t, ob, pgoutbox.TailConfig{Publication: "elsewhere"})
	event := s.events.next(t)
	require.False(t, event.Follows)
	require.ErrorContains(t, event.Err, "wal_level is replica, want logical")
	foreign(t, ob, db, "a", "a1")
	page := s.read()
	require.False(t, page.Early)
	require.Equal(t, []string{"a1"}, payloads(page.Records))
	s.settle(page)
}

func TestTail_Config(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	for field, cfg := range map[string]pgoutbox.SourceConfig{
		"Slots":            {Slots: 2, Tail: &pgoutbox.TailConfig{}},
		"SyncPositions":    {SyncPositions: true, Tail: &pgoutbox.TailConfig{}},
		"Tail.Publication": {Tail: &pgoutbox.TailConfig{Publication: strings.Repeat("p", 64)}},
		"Tail.Look":        {Tail: &pgoutbox.TailConfig{Look: time.Millisecond}},
		"Tail.MaxLag":      {Tail: &pgoutbox.TailConfig{MaxLag: time.Hour}},
		"Tail.MaxRows":     {Tail: &pgoutbox.TailConfig{MaxRows: 99}},
		"Tail.URL":         {Tail: &pgoutbox.TailConfig{URL: "postgres://a:%zz@b/"}},
		"Hooks[0]":         {Tail: &pgoutbox.TailConfig{Hooks: []outbox.Hook{7}}},
	} {
		_, err := ob.Source(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, field)
		require.ErrorContains(t, err, field)
	}
}
