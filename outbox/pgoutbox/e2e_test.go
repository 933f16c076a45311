package pgoutbox_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO2_NoLossThroughKills kills relay processes with SIGKILL while producers write. Afterwards Kafka
// holds what was committed: nothing is lost (O2), nothing was rolled back (O3), every copy is what was
// enqueued (O4), first occurrences are in order (O5), and no message has more copies than one plus the
// number of kills (O10).
//
//leat:level 4
func TestO2_NoLossThroughKills(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const kills = 3
	counted := 0 // kills that found records sent and unsettled
	relays := []*process{s.spawn(fastTakeover().Lease), s.spawn(fastTakeover().Lease)}
	s.storm("storm", 30, func(n int) {
		if n%60 != 0 || n/60 > kills {
			return
		}
		leader := awaitLeader(t, relays)
		await(t, "it has records under way", func() bool { return relays[leader].unsettled() > 0 })
		relays[leader].kill()
		if unsettled := relays[leader].unsettled(); unsettled > 0 {
			t.Logf("SIGKILL: %d records sent and unsettled", unsettled)
			counted++
		}
		relays[leader] = s.spawn(fastTakeover().Lease)
	})
	log := s.awaitAll()
	for _, p := range relays {
		require.NoError(t, p.stop())
	}
	log = append(log[:0], s.log()...)
	r := s.audit(log)
	require.Empty(t, r.lost)
	require.Empty(t, r.phantom)
	require.Empty(t, r.altered)
	require.Empty(t, r.inverted)
	require.LessOrEqual(t, r.most, 1+kills)
	require.Positive(t, counted)
	require.Equal(t, s.ledger.size(), stored(t, s.db), "O1: a row exists iff its transaction has committed")
	t.Logf("%d messages, %d further copies", s.ledger.size(), r.copies)
}

// awaitLeader returns the index of a process that has, or has had, the lease.
func awaitLeader(t *testing.T, relays []*process) (leader int) {
	t.Helper()
	select {
	case <-relays[0].leading:
		return 0
	case <-relays[1].leading:
		return 1
	case <-t.Context().Done():
		require.Fail(t, "nobody leads")
		return -1
	}
}

// TestO10_ExactlyOneCopy: without faults, but with clean stops and leader changes, every message is in
// Kafka once. A transaction that stays open from the first message to the last is delivered like all
// others.
func TestO10_ExactlyOneCopy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	cfg := relay.Config{PageSize: 7, PollMax: 20 * time.Millisecond}
	first, standby := s.start(source(t, s.ob, ""), s.sink(), cfg), s.start(source(t, s.ob, ""), s.sink(), cfg)
	late := begin(t, s.ob, s.db)
	lateMessage := s.message("late", "late")
	require.NoError(t, s.ob.Enqueue(t.Context(), late.Tx, lateMessage))
	s.storm("a", 10, func(int) {})
	require.NoError(t, first.stop())
	s.storm("b", 10, func(int) {})
	third := s.start(source(t, s.ob, ""), s.sink(), cfg)
	s.storm("c", 10, func(n int) {
		if n == 40 {
			require.NoError(t, standby.stop())
		}
	})
	late.commit()
	s.ledger.note(true, lateMessage)
	s.awaitAll()
	require.NoError(t, third.stop())
	require.Zero(t, s.relayOnce(source(t, s.ob, ""), s.sink(), cfg), "O13: a clean stop leaves nothing behind")
	r := s.audit(s.log())
	require.Equal(t, report{most: 1}, r)
}

// TestO5_OrderThroughTakeovers cuts off one leader after another without warning; the order of keys stays
// intact.
//
//leat:level 2
func TestO5_OrderThroughTakeovers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	src := &severable{Source: source(t, s.ob, "")}
	run := s.start(src, s.sink(), fastTakeover())
	s.storm("storm", 30, func(n int) {
		if n%80 == 0 {
			src.sever()
			run.cancel()
			src = &severable{Source: source(t, s.ob, "")}
			run = s.start(src, s.sink(), fastTakeover())
		}
	})
	s.awaitAll()
	require.NoError(t, run.stop())
	r := s.audit(s.log())
	require.Empty(t, r.lost)
	require.Empty(t, r.inverted)
	require.Empty(t, r.phantom)
}

// TestO5_ZombieProcess stops the leading process for longer than its lease and resumes it when another one
// has taken over: it may repeat the records it was sending, and breaks no order.
//
//leat:level 4
func TestO5_ZombieProcess(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	zombie := s.spawn(fastTakeover().Lease)
	<-zombie.leading
	s.storm("storm", 20, func(n int) {
		switch n {
		case 40:
			await(t, "it has records under way", func() bool { return zombie.unsettled() > 0 })
			require.NoError(t, zombie.cmd.Process.Signal(syscall.SIGSTOP))
			t.Logf("SIGSTOP: %d records sent and unsettled", zombie.unsettled())
		case 80:
			next := s.spawn(fastTakeover().Lease)
			<-next.leading
			require.NoError(t, zombie.cmd.Process.Signal(syscall.SIGCONT))
		}
	})
	s.awaitAll()
	require.NoError(t, zombie.stop())
	r := s.audit(s.log())
	require.LessOrEqual(t, r.most, 2)
	r.copies, r.most = 0, 0
	require.Equal(t, report{}, r)
}

// TestO11_ForeignTransactionsDelayNothing: committed messages are in the first page that is read
// afterwards, whatever other transactions are open in the cluster.
func TestO11_ForeignTransactionsDelayNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	elsewhere := testenv.Postgres(t)
	begin(t, s.ob, elsewhere).exec("CREATE TABLE work (id int); INSERT INTO work VALUES (1)")
	begin(t, s.ob, s.db).exec("CREATE TABLE work (id int); INSERT INTO work VALUES (1)")
	begin(t, s.ob, s.db).exec("SELECT FROM leat.outbox_meta FOR UPDATE")
	begin(t, s.ob, s.db).put("held", "never committed")

	session := acquire(t, s.ob, "by hand")
	run := s.start(source(t, s.ob, ""), s.sink(), relay.Config{})
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		s.commit(s.message("k", id))
		page, err := session.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, []string{"payload of " + id}, payloads(page.Records))
		require.NoError(t, session.Advance(t.Context(), page, 1))
		require.Equal(t, report{most: 1}, s.audit(s.awaitAll()), "it is in Kafka while the others are open")
	}
	require.NoError(t, run.stop())
}
