package relay_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// leaseLog records the slots of leases.
type leaseLog struct {
	mu          sync.Mutex
	held, ended []int
}

// OnRelayLease implements relay.LeaseHook.
func (l *leaseLog) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Held {
		l.held = append(l.held, e.Slot)
	} else {
		l.ended = append(l.ended, e.Slot)
	}
}

// TestLeaseEvent_TellsTheSlot: each event about a lease that begins or ends names the slot.
func TestLeaseEvent_TellsTheSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, hook := newLab(t), &leaseLog{}
		r, err := relay.New(l.Source(memoutbox.SourceConfig{Slots: 3}), l, relay.Config{Hooks: []outbox.Hook{hook}})
		require.NoError(t, err)
		stop := lead(t, r)
		elapse(t, time.Minute)
		stop()
		slices.Sort(hook.held)
		slices.Sort(hook.ended)
		require.Equal(t, []int{0, 1, 2}, hook.held)
		require.Equal(t, []int{0, 1, 2}, hook.ended)
	})
}
