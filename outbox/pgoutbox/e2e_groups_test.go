package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// effects records what a function sink has done.
type effects struct {
	mu   sync.Mutex
	done []string // idempotency keys
	fail func(id string) error
}

func (e *effects) do(ctx context.Context, r outbox.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail != nil {
		if err := e.fail(r.ID); err != nil {
			return err
		}
	}
	if relay.IdempotencyKey(ctx) != r.ID {
		return errors.New("the idempotency key is not the message's id")
	}
	e.done = append(e.done, r.ID)
	return nil
}

func (e *effects) ids() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.done)
}

func (e *effects) sink(t *testing.T, lanes int) driver.Sink {
	t.Helper()
	sink, err := relay.Func(e.do, relay.FuncConfig{Lanes: lanes})
	require.NoError(t, err)
	return sink
}

func groupSource(t *testing.T, s *stage, cfg pgoutbox.SourceConfig) driver.Source {
	t.Helper()
	src, err := s.ob.Source(cfg)
	require.NoError(t, err)
	return src
}

// TestO12_GroupsWithSinksOfTheirOwn: one group relays to Kafka with processes that are killed; another
// feeds a read model from one topic, beginning now. Neither affects the other.
//
//leat:level 2
func TestO12_GroupsWithSinksOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	before := s.message("k1", "before")
	s.commit(before)
	model := &effects{}
	src := groupSource(t, s, pgoutbox.SourceConfig{Group: "read model", Start: driver.Start{Now: true}, Topics: []string{s.topics[0]}})
	run := s.start(src, model.sink(t, 4), relay.Config{PollMax: 20 * time.Millisecond})
	await(t, "the read model has begun", func() bool {
		return query1[bool](t, s.db, "SELECT EXISTS (SELECT FROM leat.outbox_positions WHERE relay_group = 'read model')")
	})
	victim := s.spawn(fastTakeover().Lease, envRelayLinger+"=5ms")
	s.storm("storm", 6, func(n int) {
		if n == 20 {
			await(t, "it has records under way", func() bool { return victim.unsettled() > 0 })
			victim.kill()
			t.Logf("SIGKILL: %d records sent and unsettled", victim.unsettled())
			victim = s.spawn(fastTakeover().Lease)
		}
	})
	r := s.audit(s.awaitAll())
	require.Empty(t, r.lost)
	require.Empty(t, r.inverted)
	require.NoError(t, victim.stop())

	var want []string
	for id, m := range s.ledger.committed {
		if m.Topic == s.topics[0] && id != before.ID {
			want = append(want, id)
		}
	}
	await(t, "the read model has all of its topic", func() bool { return len(model.ids()) >= len(want) })
	require.NoError(t, run.stop())
	require.ElementsMatch(t, want, model.ids(), "each once: nothing has happened to its group")
}

// TestO5_TotalOrderHaltsAndResumes: a strict consumer reads all keys in one order and halts at a record it
// cannot process. When it is stopped it releases its lease, and the next one continues there.
func TestO5_TotalOrderHaltsAndResumes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for i := range 30 {
		s.commit(s.message(fmt.Sprint("k", i%5), fmt.Sprintf("m%02d", i)))
	}
	tried := make(chan struct{}, 1000)
	model := &effects{fail: func(id string) error {
		if id == "m17" {
			tried <- struct{}{}
			return errBusiness
		}
		return nil
	}}
	cfg := relay.Config{TotalOrder: true, PageSize: 7, BackoffMin: time.Millisecond, BackoffMax: 5 * time.Millisecond}
	run := s.start(source(t, s.ob, ""), model.sink(t, 1), cfg)
	for range 20 { // more than the attempts of a policy
		<-tried
	}
	require.NoError(t, run.stop())
	want := make([]string, 0, 30)
	for i := range 30 {
		want = append(want, fmt.Sprintf("m%02d", i))
	}
	require.Equal(t, want[:17], model.ids())
	require.Zero(t, query1[int](t, s.db, "SELECT count(*) FROM leat.outbox_held"), "nothing is set aside")
	require.Zero(t, query1[int](t, s.db, "SELECT count(*) FROM leat.outbox_leases WHERE owner IS NOT NULL"))

	model.fail = nil
	require.Equal(t, 13, s.relayOnce(source(t, s.ob, ""), model.sink(t, 1), cfg))
	require.Equal(t, want, model.ids())
}

// TestO6_FunctionSinkBlocksItsKey: a failed effect is retried, forever if the policy says so. Its key
// waits, in order; other keys continue.
func TestO6_FunctionSinkBlocksItsKey(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for i := range 10 {
		s.commit(s.message("bad", fmt.Sprint("bad", i)), s.message("good", fmt.Sprint("good", i)))
	}
	repaired := make(chan struct{})
	attempts := make(chan struct{}, 1000)
	model := &effects{fail: func(id string) error {
		select {
		case <-repaired:
			return nil
		default:
		}
		if id == "bad3" {
			attempts <- struct{}{}
			return errBusiness
		}
		return nil
	}}
	run := s.start(source(t, s.ob, ""), model.sink(t, 8), relay.Config{
		Policies:   []relay.Policy{{Topics: "*", Action: relay.Block}},
		BackoffMin: time.Millisecond, BackoffMax: 5 * time.Millisecond, PollMax: 10 * time.Millisecond,
	})
	for range 15 {
		<-attempts
	}
	await(t, "the other key is done", func() bool { return len(model.ids()) == 10+3 })
	close(repaired)
	await(t, "all is done", func() bool { return len(model.ids()) == 20 })
	require.NoError(t, run.stop())
	bad := slices.DeleteFunc(model.ids(), func(id string) bool { return id[0] != 'b' })
	require.Equal(t, []string{"bad0", "bad1", "bad2", "bad3", "bad4", "bad5", "bad6", "bad7", "bad8", "bad9"}, bad)
}
