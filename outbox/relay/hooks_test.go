package relay_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// recorder is every kind of hook.
type recorder struct {
	mu      sync.Mutex
	errors  map[string][]error
	leases  []lease
	batches [][]outbox.Result
	took    []time.Duration

	holds    []string // fate and id
	breakers []relay.BreakerState
	alarms   []relay.Alarm
	progress []relay.Progress
}

func (r *recorder) OnHold(_ context.Context, events []relay.HoldEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range events {
		r.holds = append(r.holds, e.Fate.String()+" "+string(e.Record.Payload))
	}
}

func (r *recorder) OnBreaker(_ context.Context, state relay.BreakerState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.breakers = append(r.breakers, state)
}

func (r *recorder) OnAlarm(_ context.Context, a relay.Alarm) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alarms = append(r.alarms, a)
}

func (r *recorder) OnProgress(_ context.Context, p relay.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(r.progress, p)
}

// copy returns what was recorded so far.
func (r *recorder) copy() *recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &recorder{
		errors: maps.Clone(r.errors), leases: slices.Clone(r.leases), holds: slices.Clone(r.holds),
		breakers: slices.Clone(r.breakers), alarms: slices.Clone(r.alarms), progress: slices.Clone(r.progress),
	}
}

// count returns how many alarms of a kind were raised.
func (r *recorder) count(kind relay.AlarmKind) int {
	n := 0
	for _, a := range r.copy().alarms {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

type lease struct {
	epoch int64
	held  bool
	err   error
}

func (r *recorder) OnError(_ context.Context, operation string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors == nil {
		r.errors = map[string][]error{}
	}
	r.errors[operation] = append(r.errors[operation], err)
}

func (r *recorder) OnLease(_ context.Context, epoch int64, held bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases = append(r.leases, lease{epoch, held, err})
}

func (r *recorder) OnPublish(_ context.Context, _ []outbox.Record, results []outbox.Result, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, results)
	r.took = append(r.took, took)
}

// TestHooks see every answer of the sink, the lease come and go, and errors.
func TestHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, hook := newFakeLog(4), &recorder{}
		sink := &fakeSink{answer: func(ctx context.Context, n int, records []outbox.Record) []outbox.Result {
			results := acked(ctx, 20*time.Millisecond, records)
			if n == 1 {
				results[1] = outbox.Failed(outbox.FailureUnknown, errBroker)
			}
			return results
		}}
		run := start(t, log.source(), sink, relay.Config{Hooks: []relay.Hook{hook}})
		elapse(t, time.Minute)
		_, err := run.stop()
		require.NoError(t, err)
		require.Len(t, hook.batches, 2)
		require.Len(t, hook.batches[0], 4)
		require.Len(t, hook.batches[1], 1)
		require.Equal(t, 20*time.Millisecond, hook.took[0])
		require.Len(t, hook.errors, 1)
		require.ErrorIs(t, hook.errors["send"][0], errBroker)
		require.Equal(t, []lease{{1, true, nil}, {1, false, nil}}, hook.leases)
		clean(t, log)
	})
}
