package kafkasink_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// replaced notes what a sink tells.
type replaced struct{ all []driver.ReplaceEvent }

func (r *replaced) OnDriverReplace(_ context.Context, e driver.ReplaceEvent) {
	r.all = append(r.all, e)
}

// TestHook_Replace: each delivery that fails costs a client, and says so.
func TestHook_Replace(t *testing.T) {
	t.Parallel()
	c, hook := cluster(t, "t", 1), &replaced{}
	fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: kerr.NotEnoughReplicas, Count: -1})
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{Hooks: []outbox.Hook{hook}})
	sent := records("t", 5, 1, 10)
	for n := range 2 {
		results := s.Send(within(t, short), sent)
		require.Error(t, results[0].Err)
		require.Len(t, hook.all, n+1)
		require.Equal(t, 5, hook.all[n].Records)
		require.ErrorIs(t, results[0].Err, hook.all[n].Err)
		require.Empty(t, hook.all[n].Slot)
	}
	fault.Remove()
	requireDelivered(t, s.Send(within(t, patience), sent))
	require.Len(t, hook.all, 2)

	_, err := kafkasink.New(c.ListenAddrs(), kafkasink.Config{Hooks: []outbox.Hook{"x"}})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "Hooks[0] = string: implements no hook interface of package kafkasink")
}
