package relay_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// noting is a source that counts the notes about policies, and can fail.
type noting struct {
	memorySource

	calls, writes atomic.Int32
	fails         func(reads bool) error // nil: never
}

func (n *noting) KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (bool, error) {
	n.calls.Add(1)
	var failed error
	kept, err := n.memorySource.(driver.PolicyKeeper).KeepPolicies(ctx, func(note string, now time.Time) string {
		next := change(note, now)
		if n.fails != nil {
			failed = n.fails(next == note)
		}
		if failed != nil {
			return note
		}
		if next != note {
			n.writes.Add(1)
		}
		return next
	})
	return kept, errors.Join(err, failed)
}

// replica returns a relay of the lab with one policy.
func (l *lab) replica(src driver.Source, log *text, p relay.Policy) *relay.Relay {
	l.t.Helper()
	r, err := relay.New(src, l, relay.Config{Policies: []relay.Policy{p}, PollMax: time.Second, Logger: log.logger()})
	require.NoError(l.t, err)
	return r
}

const differs = "relays of the group have different policies"

// TestO6_PoliciesThatDiffer: both relays log once that their policies differ, and once when that has
// ended.
func TestO6_PoliciesThatDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, first, second := newLab(t), &text{}, &text{}
		l.refuse("poison", outbox.FailurePermanent)
		stopFirst := lead(t, l.replica(l.source(), first, relay.Policy{Action: relay.Skip}))
		elapse(t, time.Minute)
		stopSecond := lead(t, l.replica(l.source(), second, relay.Policy{Action: relay.DeadLetter, Attempts: 3}))
		elapse(t, time.Second)
		require.Len(t, second.with("WARN", differs, `policies="*: dead_letter after 3"`, "skip after 10"), 1)
		elapse(t, time.Hour)
		require.Len(t, first.with("WARN", differs, `policies="*: skip after 10"`, "dead_letter after 3"), 1)
		require.Len(t, second.with(differs), 1)
		l.put("t", "k", "poison")
		elapse(t, time.Second)
		require.Len(t, first.with("record is set aside", "fate=dead", "another relay of the group has the policy dead_letter, this one skip"), 1)

		stopSecond()
		elapse(t, 3*time.Minute)
		require.Len(t, first.with("INFO", "relays of the group have the same policies again"), 1)
		l.put("t", "k", "poison")
		elapse(t, time.Second)
		require.Len(t, first.with("record is set aside", "fate=skip"), 1)
		stopFirst()
	})
}

// TestO6_LeaderSaysWhatCounts: before a leader whose policy gives up records follows another relay's
// policy instead, it logs that. It does not wait until its next note is due.
func TestO6_LeaderSaysWhatCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLab(t), &text{}
		l.refuse("poison", outbox.FailurePermanent)
		stopFirst := lead(t, l.replica(l.source(), log, relay.Policy{Action: relay.Skip}))
		elapse(t, time.Second)
		stopSecond := lead(t, l.replica(l.source(), &text{}, relay.Policy{}))
		elapse(t, 10*time.Millisecond)
		l.put("t", "k", "poison", "next")
		elapse(t, time.Second)
		require.Equal(t, []string{"poison", "next"}, l.parked())
		require.Empty(t, l.sent(), "nothing behind it is sent before it is parked")
		require.Len(t, log.with("WARN", differs), 1)
		stopFirst()
		stopSecond()
	})
}

// TestO6_PolicyOfARelayThatDied: the policy of a relay that died applies for five minutes, and no longer.
func TestO6_PolicyOfARelayThatDied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, dead := newLab(t), errors.New("killed")
		l.refuse("poison", outbox.FailurePermanent)
		var killed atomic.Bool
		victim := &noting{memorySource: l.source(), fails: func(bool) error {
			if killed.Load() {
				return dead
			}
			return nil
		}}
		stop := lead(t, l.replica(victim, &text{}, relay.Policy{}))
		elapse(t, time.Second)
		killed.Store(true) // so that it does not say that it is gone
		stop()

		stop = lead(t, l.replica(l.source(), &text{}, relay.Policy{Action: relay.Skip}))
		elapse(t, 4*time.Minute)
		l.put("t", "k", "poison")
		elapse(t, time.Second)
		require.Equal(t, []string{"poison"}, l.parked())
		elapse(t, 2*time.Minute)
		l.put("t", "l", "poison")
		elapse(t, time.Second)
		require.Equal(t, []string{"poison"}, l.parked())
		require.Zero(t, l.backlog())
		stop()
	})
}

// backlog returns how many messages were neither read nor set aside.
func (l *lab) backlog() (n int64) {
	l.t.Helper()
	stats, err := l.Admin().Stats(l.t.Context())
	require.NoError(l.t, err)
	for _, g := range stats.Groups {
		for _, s := range g.Slots {
			n += s.Backlog
		}
	}
	return n
}

// TestO6_NothingIsGivenUpUnasked: while the policies of the other relays cannot be read, a record is
// retried and not given up.
func TestO6_NothingIsGivenUpUnasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLab(t), &text{}
		l.refuse("poison", outbox.FailurePermanent)
		var away atomic.Bool
		src := &noting{memorySource: l.source(), fails: func(reads bool) error {
			if reads && away.Load() {
				return errBroker
			}
			return nil
		}}
		away.Store(true)
		stop := lead(t, l.replica(src, log, relay.Policy{Action: relay.Skip}))
		l.put("t", "k", "poison", "next")
		elapse(t, time.Minute)
		require.Empty(t, log.with("record is set aside"))
		require.Empty(t, l.sent())
		away.Store(false)
		elapse(t, time.Minute)
		require.Len(t, log.with("record is set aside", "fate=skip"), 1)
		require.Equal(t, []string{"next"}, l.sent())
		stop()
	})
}

// TestO6_NobodyLeadsUnnoted: a relay does not lead while it cannot store its policies, since the other
// relays would not know them.
func TestO6_NobodyLeadsUnnoted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLab(t), &text{}
		stop := lead(t, l.replica(l.source(), log, relay.Policy{})) // the group is there
		elapse(t, time.Second)
		stop()
		var away atomic.Bool
		away.Store(true)
		src := &noting{memorySource: l.source(), fails: func(bool) error {
			if away.Load() {
				return errBroker
			}
			return nil
		}}
		l.put("t", "k", "a")
		stop = lead(t, l.replica(src, log, relay.Policy{}))
		elapse(t, time.Minute)
		require.Empty(t, l.sent())
		away.Store(false)
		elapse(t, time.Minute)
		require.Equal(t, []string{"a"}, l.sent())
		stop()
	})
}

// TestO15_PoliciesAreNotedRarely: a healthy relay stores its policies every two minutes.
func TestO15_PoliciesAreNotedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.refuse("poison", outbox.FailurePermanent)
		src := &noting{memorySource: l.source()}
		stop := lead(t, l.replica(src, &text{}, relay.Policy{}))
		elapse(t, time.Minute)
		l.put("t", "k", "poison") // parked: nobody needs to be asked
		before := src.calls.Load()
		elapse(t, time.Hour)
		require.Equal(t, []string{"poison"}, l.parked())
		noted := src.calls.Load()
		require.InDelta(t, 30, noted-before, 1)
		stop()
		require.Equal(t, noted+1, src.calls.Load(), "it leaves")
		require.Equal(t, src.calls.Load()-1, src.writes.Load(), "the first one comes before the group")
	})
}

// TestO6_ParkedStaysParked: a relay whose policy does not park any more logs that parked records, and
// those behind them, still wait.
func TestO6_ParkedStaysParked(t *testing.T) {
	t.Parallel()
	for _, p := range []relay.Policy{{}, {Action: relay.Block}, {Action: relay.DeadLetter}, {Action: relay.Skip}} {
		synctest.Test(t, func(t *testing.T) {
			l, log := newLab(t), &text{}
			l.refuse("poison", outbox.FailurePermanent)
			l.put("t", "k", "poison")
			stop := lead(t, l.replica(l.source(), log, relay.Policy{}))
			elapse(t, time.Second)
			stop()
			require.Empty(t, log.with("stays parked"))
			l.put("t", "k", "next")
			stop = lead(t, l.replica(l.source(), log, p))
			elapse(t, time.Minute)
			require.Equal(t, []string{"poison", "next"}, l.parked())
			want := 1
			if p.Action == relay.Park {
				want = 0
			}
			require.Len(t, log.with("WARN", "what is parked stays parked", "keys=1"), want)
			l.allow("poison")
			l.redrive("k")
			elapse(t, time.Minute)
			require.Equal(t, []string{"poison", "next"}, l.sent())
			stop()
		})
	}
}
