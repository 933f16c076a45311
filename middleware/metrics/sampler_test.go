package metrics_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
)

// asked is an outbox whose figures the test says.
type asked struct {
	admin.Outbox

	mu    sync.Mutex
	calls int
	stats admin.Stats
	err   error
}

func (a *asked) Stats(context.Context) (admin.Stats, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	return a.stats, a.err
}

// failing is an inbox whose figures the test says.
type failing struct {
	inboxadmin.Inbox

	stats inboxadmin.Stats
	err   error
}

func (f *failing) Stats(context.Context) (inboxadmin.Stats, error) { return f.stats, f.err }

// figures are those of an outbox in trouble.
func figures() admin.Stats {
	return admin.Stats{
		LastSeq: 150, Bytes: 4096, Ranges: 4, RangesAhead: 1, Delayed: 3,
		Groups: []admin.GroupStats{{
			Name: "default", Held: 9, Retrying: 2, Parked: 4, Dead: 5, OldestRetried: 3 * time.Hour, OldestWaiting: 2 * time.Hour,
			Slots: []admin.SlotStats{
				{Slot: 0, Backlog: 7, Lag: 90 * time.Second, LeaseLeft: 12 * time.Second}, {Slot: 1, Problem: "another log"},
			},
		}, {Name: "new"}},
	}
}

// TestSampler_Shows: each figure of Stats is where the table says.
func TestSampler_Shows(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	ob := &asked{stats: figures()}
	s, err := m.NewSampler(metrics.SamplerConfig{
		Outboxes: map[string]admin.Outbox{"main": ob},
		Inboxes:  map[string]inboxadmin.Inbox{"orders": &failing{stats: inboxadmin.Stats{Parked: 2, Failing: 1}}},
	})
	require.NoError(t, err)
	require.Empty(t, l.Of("leat_outbox_lag_seconds"), "nothing is known yet")
	require.Equal(t, map[string]float64{"outbox=main": 0}, l.Of("leat_outbox_stats_errors_total"))
	require.NoError(t, s.Sample(t.Context()))
	const slot0, slot1 = "outbox=main,group=default,slot=0", "outbox=main,group=default,slot=1"
	for metric, want := range map[string]map[string]float64{
		"leat_outbox_lag_seconds": {slot0: 90, slot1: 0},
		"leat_outbox_oldest_waiting_seconds": {
			"outbox=main,group=default,state=log": 90, "outbox=main,group=default,state=retrying": 10800, "outbox=main,group=default,state=waiting": 7200,
			"outbox=main,group=new,state=log": 0, "outbox=main,group=new,state=retrying": 0, "outbox=main,group=new,state=waiting": 0,
		},
		"leat_outbox_backlog_messages":        {slot0: 7, slot1: 0},
		"leat_outbox_lease_remaining_seconds": {slot0: 12, slot1: 0},
		"leat_outbox_position_unusable":       {slot0: 0, slot1: 1},
		"leat_outbox_held_messages": {
			"outbox=main,group=default,state=retrying": 2, "outbox=main,group=default,state=parked": 4, "outbox=main,group=default,state=waiting": 3,
			"outbox=main,group=new,state=retrying": 0, "outbox=main,group=new,state=parked": 0, "outbox=main,group=new,state=waiting": 0,
		},
		"leat_outbox_dead_messages":    {"outbox=main,group=default": 5, "outbox=main,group=new": 0},
		"leat_outbox_delayed_messages": {"outbox=main": 3},
		"leat_outbox_log_bytes":        {"outbox=main": 4096},
		"leat_outbox_ranges_ahead":     {"outbox=main": 1},
		"leat_inbox_parked_messages":   {"inbox=orders": 2},
		"leat_inbox_failing_messages":  {"inbox=orders": 1},
	} {
		require.Equal(t, want, l.Of(metric), metric)
	}
}

// TestSampler_Errors: what cannot be asked is counted; its figures are shown until they are
// three intervals old, and then no more. Others are asked all the same.
func TestSampler_Errors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, l := ledger.New(t, metrics.Config{})
		away := errors.New("away")
		ob, in := &asked{stats: figures()}, &failing{err: away}
		s, err := m.NewSampler(metrics.SamplerConfig{
			Outboxes: map[string]admin.Outbox{"main": ob}, Inboxes: map[string]inboxadmin.Inbox{"orders": in}, Interval: 10 * time.Second,
		})
		require.NoError(t, err)
		require.ErrorIs(t, s.Sample(t.Context()), away)
		require.Len(t, l.Of("leat_outbox_lag_seconds"), 2, "the inbox has failed, and not the outbox")
		require.Empty(t, l.Of("leat_inbox_parked_messages"))
		ob.err = away
		elapse(t, 29*time.Second)
		require.ErrorContains(t, s.Sample(t.Context()), `sample of "main": away`)
		require.Len(t, l.Of("leat_outbox_lag_seconds"), 2)
		elapse(t, 2*time.Second)
		require.Empty(t, l.Of("leat_outbox_lag_seconds"), "what is not known is absent")
		require.Equal(t, map[string]float64{"outbox=main": 1}, l.Of("leat_outbox_stats_errors_total"))
		require.Equal(t, map[string]float64{"inbox=orders": 2}, l.Of("leat_inbox_stats_errors_total"))
	})
}

// TestSampler_Run: it samples once an interval, however often it is scraped, and shows
// nothing once it has ended.
func TestSampler_Run(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, l := ledger.New(t, metrics.Config{})
		s := newService(t, m, awayFor(1<<30), relay.Config{})
		s.put(t, outbox.Message{ID: "a", Topic: "orders"})
		ob := &asked{}
		sampler, err := m.NewSampler(metrics.SamplerConfig{Outboxes: map[string]admin.Outbox{"main": s.ob.Admin(), "other": ob}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- sampler.Run(ctx) }()
		}
		require.ErrorIs(t, <-ended, outbox.ErrAlreadyRunning)
		relayed := make(chan error, 1)
		go func() { relayed <- s.relay.Run(ctx) }()
		for range 100 {
			elapse(t, time.Second)
			l.All()
		}
		synctest.Wait()
		ob.mu.Lock()
		calls := ob.calls
		ob.mu.Unlock()
		require.InDelta(t, 7, calls, 1)
		require.InDelta(t, 100, l.Of("leat_outbox_lag_seconds")["outbox=main,group=default,slot=0"], 20)
		require.Positive(t, l.Of("leat_outbox_lease_remaining_seconds")["outbox=main,group=default,slot=0"])
		cancel()
		require.NoError(t, <-ended)
		require.NoError(t, <-relayed)
		require.Empty(t, l.Of("leat_outbox_lag_seconds"))
	})
}

// TestSampler_MemoryInbox: an inbox in memory is sampled, too.
func TestSampler_MemoryInbox(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	s, err := m.NewSampler(metrics.SamplerConfig{
		Inboxes: map[string]inboxadmin.Inbox{"orders": meminbox.NewAdmin(&meminbox.Store{})},
	})
	require.NoError(t, err)
	require.NoError(t, s.Sample(t.Context()))
	require.Equal(t, map[string]float64{"inbox=orders": 0}, l.Of("leat_inbox_parked_messages"))
}
