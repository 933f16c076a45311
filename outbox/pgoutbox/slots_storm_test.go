package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// stormLease is the shortest lease of a storm.
const stormLease = 400 * time.Millisecond

// slotStorm drives many sessions of a group, one step at a time in random order: pages are read and sent,
// in whole or in part; replicas start, leave, and crash without warning, and crashed ones keep sending for
// a while.
type slotStorm struct {
	t   *testing.T
	ob  *pgoutbox.Outbox
	db  *testenv.Database
	rng *rand.Rand

	replicas []*stormReplica
	zombies  []*stormSession
	sent     []outbox.Record
	faults   map[string]int
	pace     time.Duration // of a step, on average
}

// lease returns leases as long as the machine needs. On a busy machine, leases of a fixed length would end
// before their sessions are stepped again, and the group would never come to rest. The lease of a member
// is shorter.
func (s *slotStorm) lease() (lease, member time.Duration) {
	lease = max(stormLease, 40*s.pace)
	return lease, lease / 8 * 5
}

type stormReplica struct {
	src      *pgoutbox.Source
	slots    int
	fair     int
	shared   time.Time
	sessions []*stormSession
}

type stormSession struct {
	driver.Session

	renewed time.Time
	pages   []driver.Page // read and not sent
}

func (s *slotStorm) start(slots int) {
	src := sourceOf(s.t, s.ob, pgoutbox.SourceConfig{Slots: slots})
	s.replicas = append(s.replicas, &stormReplica{src: src, slots: slots, fair: 1})
}

// step takes one step with one replica.
func (s *slotStorm) step(ctx context.Context) {
	began := time.Now()
	defer func() { s.pace += (time.Since(began) - s.pace) / 8 }()
	lease, member := s.lease()
	s.zombieStep(ctx)
	if len(s.replicas) == 0 {
		return
	}
	r := s.replicas[s.rng.IntN(len(s.replicas))]
	if time.Since(r.shared) > member/4 {
		share, err := r.src.Share(ctx, member)
		require.NoError(s.t, err)
		require.Positive(s.t, share.Slots)
		r.fair, r.shared = share.Fair, time.Now()
	}
	if len(r.sessions) < r.fair {
		x, err := r.src.Acquire(ctx, lease)
		if err == nil {
			r.sessions = append(r.sessions, &stormSession{Session: x, renewed: time.Now()})
		} else if !errors.Is(err, driver.ErrLeaseLost) {
			require.ErrorIs(s.t, err, driver.ErrLeaseHeld)
		}
	}
	var led []*stormSession
	for i, x := range r.sessions {
		if i < r.fair && s.move(ctx, x) {
			led = append(led, x)
		} else {
			_ = x.Release(ctx) // of a lease that may be lost
		}
	}
	r.sessions = led
}

// move makes one session renew, read, send or settle. It returns false once the session has ended.
func (s *slotStorm) move(ctx context.Context, x *stormSession) bool {
	if lease, _ := s.lease(); time.Since(x.renewed) > lease/4 {
		if err := x.Renew(ctx, lease); !s.alive(err) {
			return false
		}
		x.renewed = time.Now()
	}
	if len(x.pages) > 0 && s.rng.IntN(2) == 0 {
		return s.alive(s.send(ctx, x))
	}
	page, err := x.Read(ctx, 1+s.rng.IntN(20))
	if errors.Is(err, driver.ErrSlotClosed) {
		require.Empty(s.t, x.pages, "closed with pages that are not settled")
		s.faults["closed"]++
		return false
	}
	if !s.alive(err) {
		return false
	}
	if len(page.Records) > 0 {
		x.pages = append(x.pages, page)
	} else if len(x.pages) > 0 {
		return s.alive(s.send(ctx, x))
	}
	return true
}

// send sends some or all of the oldest page and settles it.
func (s *slotStorm) send(ctx context.Context, x *stormSession) error {
	page, n := x.pages[0], len(x.pages[0].Records)
	if s.rng.IntN(4) == 0 {
		n = 1 + s.rng.IntN(n)
	}
	s.sent = append(s.sent, page.Records[:n]...)
	if err := x.Advance(ctx, page, n); err != nil {
		return err
	}
	if n == len(page.Records) {
		x.pages = x.pages[1:]
	}
	return nil
}

func (s *slotStorm) alive(err error) bool {
	if errors.Is(err, driver.ErrLeaseLost) {
		s.faults["lost"]++
		return false
	}
	require.NoError(s.t, err)
	return true
}

// crash ends a replica without warning. It sends later what it was about to send.
func (s *slotStorm) crash() {
	i := s.rng.IntN(len(s.replicas))
	for _, x := range s.replicas[i].sessions {
		s.zombies = append(s.zombies, x)
		s.faults["crash"]++
		if len(x.pages) > 0 {
			s.faults["crash with pages"]++
		}
	}
	s.replicas = append(s.replicas[:i], s.replicas[i+1:]...)
}

// leave ends a replica cleanly.
func (s *slotStorm) leave(ctx context.Context) {
	i := s.rng.IntN(len(s.replicas))
	for _, x := range s.replicas[i].sessions {
		require.NoError(s.t, x.Release(ctx))
	}
	require.NoError(s.t, s.replicas[i].src.Leave(ctx))
	s.replicas = append(s.replicas[:i], s.replicas[i+1:]...)
}

// zombieStep lets a crashed replica continue, without renewing its lease.
func (s *slotStorm) zombieStep(ctx context.Context) {
	if len(s.zombies) == 0 || s.rng.IntN(20) > 0 {
		return
	}
	i := s.rng.IntN(len(s.zombies))
	x := s.zombies[i]
	var err error
	if len(x.pages) > 0 {
		err = s.send(ctx, x)
	} else {
		var page driver.Page
		if page, err = x.Read(ctx, 10); err == nil && len(page.Records) > 0 {
			x.pages = append(x.pages, page)
			return
		}
	}
	if err != nil || s.rng.IntN(10) == 0 {
		_ = x.Release(ctx)
		s.zombies = append(s.zombies[:i], s.zombies[i+1:]...)
	}
}

// slots returns the number of slots of the group, 0 while it is being changed.
func (s *slotStorm) slots() int {
	return query1[int](s.t, s.db, "SELECT coalesce(max(CASE WHEN next_slots IS NULL THEN slots ELSE 0 END), 1) FROM leat.outbox_groups WHERE relay_group = 'default'")
}

// roll replaces the replicas, one after another, by others that want this many slots, and waits until the
// group has them.
func (s *slotStorm) roll(ctx context.Context, slots int) {
	for len(s.replicas) < 3 {
		s.start(slots)
	}
	old := len(s.replicas)
	for range old {
		for range 30 {
			s.step(ctx)
		}
		if s.rng.IntN(2) == 0 {
			s.crash()
		} else {
			s.leave(ctx)
		}
		s.start(slots)
	}
	// Any of those that want the old number are gone now.
	s.replicas = keepWanting(s.replicas, slots)
	for len(s.replicas) < 3 {
		s.start(slots)
	}
	for i := 0; s.slots() != slots; i++ {
		require.NoError(s.t, ctx.Err(), "the group does not come to %d slots", slots)
		s.step(ctx)
		if i%400 == 399 {
			s.crash()
			s.start(slots)
		}
	}
}

func keepWanting(all []*stormReplica, slots int) []*stormReplica {
	var kept []*stormReplica
	for _, r := range all {
		if r.slots == slots {
			kept = append(kept, r)
		}
	}
	return kept
}

// TestO2_O5_O14_SlotsChangeUnderWriters changes the number of slots repeatedly while writers run, replicas
// crash in the middle of a change, and zombies go on sending.
//
//leat:level 4
func TestO2_O5_O14_SlotsChangeUnderWriters(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	s := &slotStorm{t: t, ob: ob, db: db, rng: rand.New(rand.NewPCG(seed, 1)), faults: map[string]int{}}
	var wg sync.WaitGroup
	writing, stop := context.WithCancel(ctx)
	defer stop()
	writers := make([]error, 4)
	for i := range writers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 2+uint64(i)))
			for writing.Err() == nil && writers[i] == nil {
				writers[i] = writeSlowly(writing, ob, db, rng)
			}
		})
	}
	for _, slots := range []int{1, 4, 2, 16, 1} {
		s.roll(ctx, slots)
	}
	stop()
	wg.Wait()
	require.NoError(t, errors.Join(writers...))
	rows := stored(t, db)
	for s.distinct() < rows {
		require.NoError(t, ctx.Err(), "%d of %d", s.distinct(), rows)
		for range 50 {
			s.step(ctx)
		}
	}
	t.Logf("%d rows, %d sent, faults %v", rows, len(s.sent), s.faults)
	require.Zero(t, inverted(s.sent))
	require.Positive(t, s.faults["closed"])
	require.Positive(t, s.faults["crash with pages"])
	for len(s.replicas) > 0 {
		s.leave(ctx)
	}
	for _, x := range s.zombies {
		_ = x.Release(ctx)
	}
}

func (s *slotStorm) distinct() int {
	return len(firsts(s.sent))
}

// inverted returns the number of first occurrences that come before one of their key with a lower number.
func inverted(log []outbox.Record) int {
	n, highest := 0, map[string]int64{}
	for _, r := range firsts(log) {
		if r.Key == "" {
			continue
		}
		if r.Seq < highest[r.Key] {
			n++
		}
		highest[r.Key] = max(highest[r.Key], r.Seq)
	}
	return n
}

// writeSlowly runs one transaction with a few keys, which may take a while.
func writeSlowly(ctx context.Context, ob *pgoutbox.Outbox, db *testenv.Database, rng *rand.Rand) error {
	return unlessOver(ctx, pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if rng.IntN(2) == 0 {
			if _, err := tx.Exec(ctx, "SELECT pg_current_xact_id()"); err != nil {
				return err
			}
		}
		var msgs []outbox.Message
		for range 1 + rng.IntN(4) {
			msgs = append(msgs, keyed(fmt.Sprint("k", rng.IntN(40)), "x")...)
		}
		if err := ob.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "SELECT pg_sleep($1)", rng.Float64()*rng.Float64()*0.05)
		return err
	}))
}

// unlessOver returns err, or nil if err is due to the end of ctx.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
