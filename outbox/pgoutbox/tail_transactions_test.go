package pgoutbox_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// tailLook is how often most of these tails poll the log.
const tailLook = 10 * time.Millisecond

// tailPrepared: messages of a prepared transaction arrive once it is committed, and never if it is rolled
// back.
func tailPrepared(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute})
	for i, c := range []struct {
		end  string
		want []string
	}{
		{"COMMIT PREPARED", []string{"p", "after"}},
		{"ROLLBACK PREPARED", []string{"after"}},
	} {
		id := fmt.Sprintf("'%s %d'", db.Pool.Config().ConnConfig.Database, i)
		w := begin(t, ob, db).put("p", "p").exec("PREPARE TRANSACTION " + id)
		w.commit() // there is nothing left to commit
		foreign(t, ob, db, "b", "meanwhile")
		page := s.awaitPage()
		require.True(t, page.Early)
		require.Equal(t, []string{"meanwhile"}, payloads(page.Records))
		s.settle(page)
		exec(t, db, c.end+" "+id)
		foreign(t, ob, db, "p", "after")
		s.requireEarly(c.want)
	}
}

// tailSavepoints: if savepoints of a transaction were rolled back, the rest of it arrives, and in order.
func tailSavepoints(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute})
	w := begin(t, ob, db).put("a", "1").exec("SAVEPOINT s").put("a", "no").exec("SAVEPOINT nested").put("b", "no").
		exec("RELEASE nested").exec("ROLLBACK TO s").put("a", "2").exec("RELEASE s").exec("SAVEPOINT t").put("a", "3")
	w.commit()
	s.requireEarly([]string{"1", "2", "3"})
}

// tailSpilled: a transaction that does not fit into the server's memory is spilled to disk. Other
// transactions pass it while it is open; once it has committed, all of it arrives, each row once and in
// order.
func tailSpilled(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	exec(t, db, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET logical_decoding_work_mem = ''64kB''', current_database()); END $$")
	s := followed(t, ob, pgoutbox.TailConfig{Look: time.Minute, MaxLag: time.Minute})
	const rows = 1000
	want := make([]string, rows)
	msgs := make([]outbox.Message, rows)
	for i := range msgs {
		want[i] = fmt.Sprintf("%d %0500d", i, 0)
		msgs[i] = outbox.Message{Topic: "events", Key: "large", Payload: []byte(want[i])}
	}
	large := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), large.Tx, msgs...))
	foreign(t, ob, db, "b", "small")
	s.requireEarly([]string{"small"})
	large.commit()
	s.requireEarly(want)
	await(t, "it was spilled", func() bool {
		return query1[bool](t, db, `SELECT EXISTS (SELECT FROM pg_stat_replication_slots JOIN pg_replication_slots USING (slot_name)
			WHERE database = current_database() AND spill_txns > 0)`)
	})
	require.Empty(t, s.events, "the tail goes on")
}

// tailRanges: ranges that maintenance creates while a tail follows are in the publication at once.
func tailRanges(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	db := server.Database(t, migrated())
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	makeSmallRanges(t, db)
	exec(t, db, publish)
	s := followed(t, ob, pgoutbox.TailConfig{Look: tailLook})
	m := maintenance(t, ob, small())
	before := len(layout(t, db))
	for i := range 60 {
		if i%10 == 0 {
			await(t, "maintenance is not in anybody's way", func() bool {
				_, err := m.RunOnce(context.Background())
				return err == nil
			})
		}
		foreign(t, ob, db, "a", strconv.Itoa(i))
		page := s.awaitPolled()
		require.Equal(t, []string{strconv.Itoa(i)}, payloads(page.Records))
		s.settle(page)
	}
	require.Greater(t, len(layout(t, db)), before+3)
	require.Empty(t, s.events, "the tail has missed nothing")
	foreign(t, ob, db, "a", "early")
	s.settle(s.awaitPolled())
	require.True(t, pgoutbox.IsJoined(s.session()))
}

// tailPublishedAnew: a publication that is dropped ends the tail, whichever side notices first. Once it is
// created again, a new tail follows. Windows find the messages committed in between.
func tailPublishedAnew(t *testing.T, server *testenv.PostgresServer) {
	t.Helper()
	ob, db := tailed(t, server)
	s := followed(t, ob, pgoutbox.TailConfig{Look: tailLook})
	foreign(t, ob, db, "a", "before")
	s.settle(s.awaitPolled())
	exec(t, db, "DROP PUBLICATION leat")
	foreign(t, ob, db, "a", "silent")
	page := s.awaitPolled()
	require.False(t, page.Early)
	require.Equal(t, []string{"silent"}, payloads(page.Records))
	s.settle(page)
	_ = s.read()
	require.ErrorContains(t, s.events.next(t).Err, "publication")
	exec(t, db, publish)
	s.awaitFollows("publication")
	s.join()
	foreign(t, ob, db, "a", "heard")
	require.Equal(t, []string{"heard"}, payloads(s.awaitPolled().Records))
}

// requireEarly settles pages until all of want has arrived, early and in this order.
func (s *tailSession) requireEarly(want []string) {
	s.t.Helper()
	var got []string
	for len(got) < len(want) {
		page := s.awaitPage()
		require.True(s.t, page.Early)
		got = append(got, payloads(page.Records)...)
		s.settle(page)
	}
	require.Equal(s.t, want, got)
}

// awaitFollows waits until a new tail follows. Until then, only events with this reason may arrive.
func (s *tailSession) awaitFollows(reason string) {
	s.t.Helper()
	for event := s.events.next(s.t); !event.Follows; event = s.events.next(s.t) {
		require.ErrorContains(s.t, event.Err, reason)
	}
}
