package pgoutbox_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestTail_Storm: while writers commit late, roll back and share keys, the connection of the tail is cut,
// and its table is taken out of the publication and put back. As the sink never fails, each committed
// message is sent once, and those of a key in the order of their numbers.
//
//leat:level 4
func TestTail_Storm(t *testing.T) {
	t.Parallel()
	server := logical(t)
	ob, db := tailed(t, server)
	events := make(tailEvents, 1000)
	source := sourceOf(t, ob, pgoutbox.SourceConfig{Start: driver.Start{Oldest: true}, Tail: &pgoutbox.TailConfig{
		Look: 50 * time.Millisecond, Hooks: []outbox.Hook{events},
	}})
	broker := outboxtest.NewBroker()
	early := &earlyReads{}
	r, err := relay.New(source, broker.Sink(), relay.Config{PollMax: 50 * time.Millisecond, PageSize: 20, Hooks: []outbox.Hook{early}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()

	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { stormWriter(t, ob, db, w) })
	}
	written := make(chan struct{})
	go func() { defer close(written); writers.Wait() }()
	load := func(n int) {
		enough := stored(t, db) + n
		await(t, "load", func() bool { return isClosed(written) || stored(t, db) >= enough })
	}
	for round := range 3 {
		for event := events.next(t); !event.Follows; {
			event = events.next(t)
		}
		load(60)
		if round == 1 {
			republish(t, db, events, func() { load(20) })
		}
		exec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender' AND datname = current_database()")
	}
	<-written
	count := stored(t, db)
	await(t, "all is sent", func() bool { return len(broker.Log()) >= count })
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, readAll(t, acquire(t, ob, "default"), 100), "all of it is settled")
	requireStorm(t, broker.Log(), count)
	require.Positive(t, early.count(), "nothing came early")
}

// republish takes the table out of the publication. It puts it back once meanwhile has returned and the
// tail has ended: a tail that continued would deliver the rows from then on first.
func republish(t *testing.T, db *testenv.Database, events tailEvents, meanwhile func()) {
	t.Helper()
	exec(t, db, "ALTER PUBLICATION leat DROP TABLE leat.outbox")
	meanwhile()
	for event := events.next(t); event.Follows; {
		event = events.next(t)
	}
	exec(t, db, "ALTER PUBLICATION leat ADD TABLE leat.outbox")
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// requireStorm checks that log has count messages, each once, ascending within a key.
func requireStorm(t *testing.T, log []outbox.Record, count int) {
	t.Helper()
	seen := make(map[int64]bool)
	last := make(map[string]int64)
	for i := range log {
		r := &log[i]
		require.False(t, seen[r.Seq], "record %d was sent twice", r.Seq)
		require.Greater(t, r.Seq, last[r.Key], "key %s", r.Key)
		seen[r.Seq], last[r.Key] = true, r.Seq
	}
	require.Len(t, seen, count)
}

func stormWriter(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database, seed int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), 7))
	for i := range 200 {
		tx, err := db.Pool.Begin(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		var msgs []outbox.Message
		for range 1 + rng.IntN(3) {
			msgs = append(msgs, keyed("key"+strconv.Itoa(rng.IntN(5)), strconv.Itoa(i))...)
		}
		if err := ob.Enqueue(context.Background(), tx, msgs...); err != nil {
			t.Error(err)
		}
		if rng.IntN(8) == 0 {
			_ = wait.For(context.Background(), time.Duration(rng.IntN(60))*time.Millisecond) // commits late
		}
		if rng.IntN(10) == 0 {
			_ = tx.Rollback(context.Background())
			continue
		}
		_ = tx.Commit(context.Background()) // what is stored counts
	}
}

// earlyReads counts the records that a relay has read before its position could pass them.
type earlyReads struct {
	mu sync.Mutex
	n  int
}

func (e *earlyReads) OnRelayRead(_ context.Context, event relay.ReadEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if event.Early {
		e.n += event.Records
	}
}

func (e *earlyReads) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}
