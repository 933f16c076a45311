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

// recorder implements every kind of hook and records its events.
type recorder struct {
	mu      sync.Mutex
	errors  map[string][]error
	leases  []lease
	batches [][]outbox.Result
	took    []time.Duration

	holds    []string // fate and id
	breakers []relay.BreakerState
	alarms   []outbox.AlarmEvent
	ended    []outbox.AlarmEvent
	progress []relay.ProgressEvent
}

var (
	_ relay.SendHook     = (*recorder)(nil)
	_ relay.LeaseHook    = (*recorder)(nil)
	_ relay.ErrorHook    = (*recorder)(nil)
	_ relay.HoldHook     = (*recorder)(nil)
	_ relay.BreakerHook  = (*recorder)(nil)
	_ relay.ProgressHook = (*recorder)(nil)
	_ outbox.AlarmHook   = (*recorder)(nil)
)

func (r *recorder) OnRelayHold(_ context.Context, e relay.HoldEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = append(r.holds, e.Fate.String()+" "+string(e.Record.Payload))
}

func (r *recorder) OnRelayBreaker(_ context.Context, e relay.BreakerEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.breakers = append(r.breakers, e.BreakerState)
}

func (r *recorder) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Ended {
		e.Ended = false
		r.ended = append(r.ended, e)
		return
	}
	r.alarms = append(r.alarms, e)
}

func (r *recorder) OnRelayProgress(_ context.Context, e relay.ProgressEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(r.progress, e)
}

// copy returns what was recorded so far.
func (r *recorder) copy() *recorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &recorder{
		errors: maps.Clone(r.errors), leases: slices.Clone(r.leases), holds: slices.Clone(r.holds),
		breakers: slices.Clone(r.breakers), alarms: slices.Clone(r.alarms), ended: slices.Clone(r.ended), progress: slices.Clone(r.progress),
	}
}

// count returns how many alarms of a kind were raised.
func (r *recorder) count(kind outbox.AlarmKind) int {
	n := 0
	for _, a := range r.copy().alarms {
		if a.Kind == kind {
			n++
		}
	}
	return n
}

// countEnded returns how many alarms of a kind have ended.
func (r *recorder) countEnded(kind outbox.AlarmKind) int {
	n := 0
	for _, a := range r.copy().ended {
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

func (r *recorder) OnRelayError(_ context.Context, e relay.ErrorEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errors == nil {
		r.errors = map[string][]error{}
	}
	r.errors[e.Operation] = append(r.errors[e.Operation], e.Err)
}

func (r *recorder) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases = append(r.leases, lease{e.Epoch, e.Held, e.Err})
}

func (r *recorder) OnRelaySend(_ context.Context, e relay.SendEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches = append(r.batches, e.Results)
	r.took = append(r.took, e.Took)
}

// TestHooks: hooks see every answer of the sink, the beginning and the end of leases, and errors.
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
		run := start(t, log.source(), sink, relay.Config{Hooks: []outbox.Hook{hook}})
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
