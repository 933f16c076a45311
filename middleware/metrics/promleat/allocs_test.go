package promleat_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// TestAllocations: events of topics that were seen before allocate nothing a record. What
// remains is the pool's, which the race detector empties at random.
func TestAllocations(t *testing.T) { //nolint:paralleltest // others would count, too
	ctx := context.Background()
	m, err := promleat.New(prometheus.NewRegistry(), metrics.Config{})
	require.NoError(t, err)
	o, err := m.Outbox("main")
	require.NoError(t, err)
	r, err := o.Relay("default")
	require.NoError(t, err)
	page := relay.SendEvent{Records: make([]outbox.Record, 1000), Results: make([]outbox.Result, 1000)}
	call := outbox.EnqueueEvent{Messages: make([]outbox.Message, 1000)}
	for i := range page.Records {
		page.Records[i].Topic = []string{"orders", "mail", "audit"}[i%3]
		call.Messages[i].Topic = page.Records[i].Topic
		if i%7 == 0 {
			page.Results[i] = outbox.NotSent()
		}
	}
	for name, tell := range map[string]func(){
		"send":     func() { r.OnRelaySend(ctx, page) },
		"progress": func() { r.OnRelayProgress(ctx, relay.ProgressEvent{Settled: 1000}) },
		"hold":     func() { r.OnRelayHold(ctx, relay.HoldEvent{Record: &page.Records[0], Fate: driver.FatePark}) },
		"error":    func() { r.OnRelayError(ctx, relay.ErrorEvent{Operation: "read"}) },
		"enqueue":  func() { o.OnOutboxEnqueue(ctx, call) },
	} {
		require.Less(t, testing.AllocsPerRun(10, tell), 10.0, "%s of a thousand records", name)
	}
}
