package pgoutbox_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// sessionsOfLeases selects the backends that hold leases in this database.
const sessionsOfLeases = `FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND pid IN (SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'leat %')`

// longLease returns a config with a lease that outlasts every test.
func longLease() relay.Config {
	return relay.Config{
		Lease: 5 * time.Minute, PageSize: 10, PollMax: 50 * time.Millisecond, BackoffMax: time.Second, PublishTimeout: time.Second,
	}
}

// TestO14_WhoLosesARaceAsksAgain: a claim that loses a race returns when to ask again, as a claim does
// that finds the lease held. Otherwise a standby would sleep for a part of the lease while the winner
// dies.
func TestO14_WhoLosesARaceAsksAgain(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	for range 5 {
		sessions, errs := make([]driver.Session, 6), make([]error, 6)
		var asking sync.WaitGroup
		for i := range sessions {
			src := sourceOf(t, ob, pgoutbox.SourceConfig{})
			asking.Go(func() { sessions[i], errs[i] = src.Acquire(t.Context(), time.Minute) })
		}
		asking.Wait()
		for i, err := range errs {
			if err == nil {
				require.NoError(t, sessions[i].Release(t.Context()))
				continue
			}
			held, ok := errors.AsType[*driver.LeaseHeldError](err)
			require.True(t, ok, "%v", err)
			require.Positive(t, held.Retry, "%v", err)
		}
	}
}

// TestO14_StandbyTakesOverFromTheDead: when the leader's session ends, a standby continues within moments,
// and a relay without a standby starts again.
func TestO14_StandbyTakesOverFromTheDead(t *testing.T) {
	t.Parallel()
	for _, relays := range []int{1, 2} {
		t.Run(strconv.Itoa(relays), func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			broker := outboxtest.NewBroker()
			for range relays {
				r, err := relay.New(source(t, elsewhere(t, db, pgoutbox.Config{}), ""), broker.Sink(), longLease())
				require.NoError(t, err)
				runRelay(t, r)
			}
			for i := range 5 {
				put(t, ob, "k", strconv.Itoa(i))
				_, err := broker.AwaitDistinct(t.Context(), i+1)
				require.NoError(t, err)
				require.Positive(t, query1[int](t, db, "SELECT count(pg_terminate_backend(pid)) "+sessionsOfLeases))
			}
			put(t, ob, "k", "5")
			log, err := broker.AwaitDistinct(t.Context(), 6)
			require.NoError(t, err)
			require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, payloads(firsts(log)))
		})
	}
}

// mortals returns an outbox with a role of its own; die ends its sessions and prevents new ones, so that
// to the database the process has died.
func mortals(t *testing.T, db *testenv.Database) (ob *pgoutbox.Outbox, die func()) {
	t.Helper()
	role := pgx.Identifier{db.Name + "_mortal"}.Sanitize()
	exec(t, db, "CREATE ROLE "+role+" SUPERUSER LOGIN")
	cfg := db.Pool.Config()
	cfg.ConnConfig.User = db.Name + "_mortal"
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		pool.Close()
		_, err := db.Pool.Exec(context.Background(), "DROP ROLE "+role)
		require.NoError(t, err)
	})
	ob, err = pgoutbox.New(pool, pgoutbox.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return ob, func() {
		exec(t, db, "ALTER ROLE "+role+" NOLOGIN")
		_, err := db.Pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", cfg.ConnConfig.User)
		require.NoError(t, err)
	}
}

// TestO14_FleetTakesOverFromTheDead: of two relays that share slots, one dies without warning. The other
// takes over its slots within moments, although it has its fair share already.
//
//leat:level 2
func TestO14_FleetTakesOverFromTheDead(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	doomed, die := mortals(t, db)
	cfg := pgoutbox.SourceConfig{Slots: 4, Start: driver.Start{Oldest: true}}
	rc := longLease()
	rc.Lease = 15 * time.Second // a third of it passes before the two share
	rc.Logger = slog.New(slog.DiscardHandler)
	for _, ob := range []*pgoutbox.Outbox{doomed, ob} {
		r, err := relay.New(sourceOf(t, ob, cfg), outboxtest.NewBroker().Sink(), rc)
		require.NoError(t, err)
		runRelay(t, r)
	}
	owners := func() int { // 0 while a slot has none
		return query1[int](t, db, `SELECT CASE WHEN count(owner) = 4 THEN count(DISTINCT regexp_replace(owner, '/[0-9]+$', '')) ELSE 0 END
			FROM leat.outbox_leases WHERE relay_group = 'default' AND lease_until > clock_timestamp() + interval '1 s'`)
	}
	await(t, "two share the slots", func() bool { return owners() == 2 })
	die()
	died := time.Now()
	await(t, "the other one has all", func() bool { return owners() == 1 })
	require.Less(t, time.Since(died), 7*time.Second, "no lease has run out")
}

// killed leaves the slots of a relay whose process has died, and returns once the server knows.
func killed(t *testing.T, db *testenv.Database, slots int) {
	t.Helper()
	doomed, die := mortals(t, db)
	slotsOf(t, doomed, slots)
	die()
	await(t, "its sessions have ended", func() bool { return query1[int](t, db, "SELECT count(*) "+sessionsOfLeases) == 0 })
	require.Equal(t, slots, query1[int](t, db, "SELECT count(*) FROM leat.outbox_leases WHERE lease_until > clock_timestamp()"))
}

// TestO14_WhatTheDeadDoNotHoldUp: nothing waits for the lease of a dead relay: removing its group,
// rebasing it, the dry runs of both, and relays that want another number of slots.
//
//leat:level 2
func TestO14_WhatTheDeadDoNotHoldUp(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(t *testing.T, ob *pgoutbox.Outbox, live bool){
		"remove": func(t *testing.T, ob *pgoutbox.Outbox, live bool) {
			t.Helper()
			for _, dry := range []bool{true, false} {
				_, err := ob.Admin().RemoveGroup(t.Context(), admin.GroupRequest{
					Group: "default", DryRun: dry, By: admin.By{Actor: "test", Reason: "a check"},
				})
				require.Equal(t, live, errors.Is(err, admin.ErrGroupActive), "%v", err)
			}
		},
		"rebase": func(t *testing.T, ob *pgoutbox.Outbox, live bool) {
			t.Helper()
			r := pgoutbox.RebaseRequest{Group: "default", KeepPosition: true, Actor: "test", Reason: "a check"}
			plan, err := ob.PlanRebase(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, live, plan.Holder != "")
			require.Equal(t, live, errors.Is(ob.Rebase(t.Context(), r), driver.ErrLeaseHeld))
		},
		"slots": func(t *testing.T, ob *pgoutbox.Outbox, live bool) {
			t.Helper()
			if live {
				return
			}
			r, err := relay.New(sourceOf(t, ob, pgoutbox.SourceConfig{Slots: 3}), outboxtest.NewBroker().Sink(), fastTakeover())
			require.NoError(t, err)
			runRelay(t, r)
			await(t, "the slots are changed", func() bool {
				var slots int
				require.NoError(t, pgoutbox.Ask(t.Context(), ob,
					"SELECT count(owner) FROM leat.outbox_leases WHERE relay_group = 'default'").Scan(&slots))
				return slots == 3
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			s := acquire(t, ob, "default")
			do(t, ob, true)
			require.NoError(t, s.Release(t.Context()))
			killed(t, db, 1)
			do(t, ob, false)
		})
	}
}

// TestO14_BehindAPoolerTheLeaseCounts: through a pooler in transaction mode, a relay takes no lock, which
// the next user of its session would hold. So no relay can check whether it lives, and its lease counts.
func TestO14_BehindAPoolerTheLeaseCounts(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	acquire(t, elsewhere(t, testenv.PgBouncer(t, db, testenv.PoolTransaction), pgoutbox.Config{}), "")
	require.Zero(t, query1[int](t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"))
	for range 3 {
		_, err := source(t, ob, "").Acquire(t.Context(), testLease)
		var held *driver.LeaseHeldError
		require.ErrorAs(t, err, &held)
		require.Zero(t, held.Retry)
	}
}

// TestO9_MarkedLeaseIsLocked: whenever a marked lease is visible, its lock is held. Otherwise the lease
// could be taken from a live relay.
func TestO9_MarkedLeaseIsLocked(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	looked, seen := make(chan error, 1), 0
	go func() {
		looked <- func() error {
			for ctx.Err() == nil {
				var owner, free string
				still := false
				err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
					err := tx.QueryRow(ctx, `WITH l AS MATERIALIZED (SELECT owner FROM leat.outbox_leases WHERE owner ~ '/0[0-9]+$')
						SELECT coalesce(min(owner), ''), coalesce(min(owner) FILTER (WHERE pg_try_advisory_xact_lock(hashtextextended(owner, 0))), '')
						FROM l`).Scan(&owner, &free)
					if err != nil || free == "" {
						return err
					}
					// Not if it was released before the lock was tried.
					return tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM leat.outbox_leases WHERE owner = $1)", free).Scan(&still)
				})
				switch {
				case err != nil && ctx.Err() == nil:
					return err
				case still:
					return errors.New("not locked: " + free)
				case owner != "":
					seen++
				}
			}
			return nil
		}()
	}()
	for range 100 {
		require.NoError(t, acquire(t, ob, "").Release(ctx))
	}
	cancel()
	require.NoError(t, <-looked)
	require.Positive(t, seen)
}

// cutter ends a session that holds a lease, on average in one of odds calls.
type cutter struct {
	odds  int
	db    *testenv.Database
	cuts  *atomic.Int64
	until int64 // cuts
	mu    sync.Mutex
	rng   *rand.Rand
}

func newCutter(db *testenv.Database, cuts *atomic.Int64, seed, odds int) *cutter {
	return &cutter{odds: odds, db: db, cuts: cuts, until: *takeoverCuts, rng: rand.New(rand.NewPCG(uint64(seed), 9))}
}

func (s *cutter) chance(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

// over reports whether there have been enough cuts.
func (s *cutter) over() bool { return s.cuts.Load() >= s.until }

func (s *cutter) maybe(ctx context.Context) {
	if s.chance(s.odds) != 0 {
		return
	}
	tag, err := s.db.Pool.Exec(ctx, "SELECT pg_terminate_backend(pid) "+sessionsOfLeases+" LIMIT 1")
	if err == nil {
		s.cuts.Add(tag.RowsAffected())
	}
	_ = wait.For(ctx, time.Duration(s.chance(400))*time.Millisecond) // others may have begun
}

// cutSink delivers, with cuts in the middle of calls. The zombie continues its call.
type cutSink struct {
	driver.Sink
	*cutter
}

// Send implements driver.Sink.
func (s *cutSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	if s.over() {
		return s.Sink.Send(ctx, records)
	}
	ctx = context.WithoutCancel(ctx) // as a process that has stopped for a moment
	n := s.chance(len(records) + 1)
	results := s.Sink.Send(ctx, records[:n])
	s.maybe(ctx)
	return append(results, s.Sink.Send(ctx, records[n:])...)
}

// cutExactSink does the same for a sink that keeps the position: a cut comes before the transaction or
// after it.
type cutExactSink struct {
	driver.TransactionalSink
	*cutter
}

// SendWith implements driver.TransactionalSink.
func (s *cutExactSink) SendWith(ctx context.Context, slot string, records []outbox.Record, position []byte) error {
	if s.over() {
		return s.TransactionalSink.SendWith(ctx, slot, records, position)
	}
	ctx = context.WithoutCancel(ctx)
	if s.chance(2) == 0 {
		s.maybe(ctx)
		return s.TransactionalSink.SendWith(ctx, slot, records, position)
	}
	err := s.TransactionalSink.SendWith(ctx, slot, records, position)
	s.maybe(ctx)
	return err
}

// sickSink fails every third time for the records of one key, which are set aside and retried.
type sickSink struct {
	driver.Sink

	calls atomic.Int64
}

// Send implements driver.Sink.
func (s *sickSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	if s.calls.Add(1)%3 != 0 {
		return s.Sink.Send(ctx, records)
	}
	results := make([]outbox.Result, len(records))
	failed := false
	for i := range records {
		switch {
		case records[i].Key != "key0":
			results[i] = s.Sink.Send(ctx, records[i:i+1])[0]
		case failed:
			results[i] = outbox.NotSent()
		default:
			results[i], failed = outbox.Failed(outbox.FailureUnknown, errBusiness), true
		}
	}
	return results
}

var takeoverCuts = flag.Int64("leat.cuts", 30, "cuts of TestO5_OrderThroughCuts, in each mode")

// TestO5_OrderThroughCuts: sessions that hold leases are ended in the middle of pages, two relays take
// over from each other, and the zombie continues its call. In each mode the first occurrences of a key are
// in order, nothing is lost, and no relay waits for a lease. -leat.cuts=10000 makes it run for a night.
//
//leat:level 4
func TestO5_OrderThroughCuts(t *testing.T) {
	t.Parallel()
	logicalServer := logical(t)
	type mode struct {
		slots       int
		total, tail bool
		fails       bool
	}
	for name, m := range map[string]mode{
		"key": {}, "total": {total: true}, "slots": {slots: 4}, "tail": {tail: true}, "failing": {fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ob *pgoutbox.Outbox
			var db *testenv.Database
			cfg := pgoutbox.SourceConfig{Slots: m.slots, Start: driver.Start{Oldest: true}}
			if m.tail {
				ob, db = tailed(t, logicalServer)
				cfg.Tail = &pgoutbox.TailConfig{Look: 50 * time.Millisecond}
			} else {
				ob, db = newOutbox(t, pgoutbox.Config{})
			}
			broker, cuts := outboxtest.NewBroker(), &atomic.Int64{}
			rc := longLease()
			rc.TotalOrder = m.total
			rc.Policies = []relay.Policy{{Action: relay.Park, Attempts: 1_000_000}}
			odds := 2
			if m.total { // one record a call, and a cut repeats the page: else hardly any page would pass
				rc.Policies[0].Action, odds = relay.Block, 2*rc.PageSize
			}
			for i := range 2 {
				var sink driver.Sink = &cutSink{broker.Sink(), newCutter(db, cuts, i, odds)}
				if m.fails {
					sink = &sickSink{Sink: sink}
				}
				r, err := relay.New(sourceOf(t, elsewhere(t, db, pgoutbox.Config{}), cfg), sink, rc)
				require.NoError(t, err)
				runRelay(t, r)
			}
			written := 0
			for began := time.Now(); cuts.Load() < *takeoverCuts; written++ {
				for key := range 5 {
					put(t, ob, fmt.Sprint("key", key), fmt.Sprintf("%06d", written))
				}
				await(t, "the relays keep up", func() bool { return len(firsts(broker.Log())) > 5*(written-20) })
				require.Less(t, time.Since(began), time.Duration(*takeoverCuts)*10*time.Second, "no more cuts: %d", cuts.Load())
			}
			log, err := broker.AwaitDistinct(t.Context(), 5*written)
			require.NoError(t, err)
			last := map[string]string{}
			for _, r := range firsts(log) {
				require.Less(t, last[r.Key], string(r.Payload), "key %s", r.Key)
				last[r.Key] = string(r.Payload)
			}
			if m.total {
				require.True(t, slices.IsSortedFunc(firsts(log), func(a, b outbox.Record) int { return strings.Compare(string(a.Payload), string(b.Payload)) }))
			}
			t.Logf("%d cuts, %d messages, %d copies", cuts.Load(), 5*written, len(log))
		})
	}
}

// TestR12_ExactThroughCuts is TestO5_OrderThroughCuts with exactly-once delivery: readers of committed
// records see each message once, in the order of its key.
//
//leat:level 4
func TestR12_ExactThroughCuts(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 3} {
		t.Run(strconv.Itoa(slots), func(t *testing.T) {
			t.Parallel()
			s, cuts := newStage(t), &atomic.Int64{}
			cfg := pgoutbox.SourceConfig{Slots: slots, SyncPositions: true, Start: driver.Start{Oldest: true}}
			rc := longLease()
			rc.PublishTimeout = 10 * time.Second
			var relays []*running
			for i := range 2 {
				sink := &cutExactSink{s.exactSink(), newCutter(s.db, cuts, i, 2)}
				relays = append(relays, s.start(sourceOf(t, elsewhere(t, s.db, pgoutbox.Config{}), cfg), sink, rc))
			}
			backlog := func() (n int64) {
				stats, err := s.ob.Admin().Stats(t.Context())
				require.NoError(t, err)
				for _, group := range stats.Groups {
					for _, slot := range group.Slots {
						n += slot.Backlog
					}
				}
				return n
			}
			for began := time.Now(); cuts.Load() < *takeoverCuts; {
				for key := range 5 {
					s.commit(s.message(fmt.Sprint("key", key), fmt.Sprint("m", s.ledger.size())))
				}
				await(t, "the relays keep up", func() bool { return backlog() < 100 })
				require.Less(t, time.Since(began), time.Duration(*takeoverCuts)*20*time.Second, "no more cuts: %d", cuts.Load())
			}
			await(t, "all is settled", func() bool { return backlog() == 0 })
			for _, r := range relays {
				require.NoError(t, r.stop())
			}
			exec(t, s.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
			s.relayOnce(sourceOf(t, s.ob, cfg), s.exactSink(), relay.Config{PageSize: 100}) // no transaction is open then
			s.requireExact()
			t.Logf("%d cuts", cuts.Load())
		})
	}
}
