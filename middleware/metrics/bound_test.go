package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/outbox"
	oadmin "github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// flood gives every observer what has n different names, twice.
func flood(t *testing.T, m *metrics.Metrics, n int) {
	t.Helper()
	ctx := t.Context()
	o, err := m.Outbox("main")
	require.NoError(t, err)
	r, err := o.Relay("default")
	require.NoError(t, err)
	r.Watch(state{})
	c, s := m.Consumers(), m.Source()
	for range 2 {
		for i := range n {
			name := fmt.Sprintf("name-%d", i)
			record := outbox.Record{Message: outbox.Message{Topic: name, ID: name, Key: name}, CreatedAt: time.Now()}
			o.OnOutboxEnqueue(ctx, outbox.EnqueueEvent{Messages: []outbox.Message{record.Message}})
			r.OnRelaySend(ctx, relay.SendEvent{Records: []outbox.Record{record}, Results: []outbox.Result{{}}})
			r.OnRelayHold(ctx, relay.HoldEvent{Record: &record, Fate: driver.FatePark})
			c.OnInboxDelivery(ctx, inbox.DeliveryEvent{Consumer: name, ID: name})
			s.OnDriverSource(ctx, inboxdriver.SourceEvent{Group: name, Topic: "name-0", Kind: "acked"})
			s.OnDriverSource(ctx, inboxdriver.SourceEvent{Group: "g", Topic: name, Kind: "acked"})
		}
	}
}

// TestBound: whatever comes, a label has at most so many values and one for all others, and
// nothing is lost of the sums.
func TestBound(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 200} {
		m, l := ledger.New(t, metrics.Config{MaxValues: limit})
		flood(t, m, 1000)
		for _, metric := range []string{
			"leat_outbox_enqueued_messages_total", "leat_relay_sent_bytes_total", "leat_relay_dispatch_latency_seconds",
			"leat_relay_breaker_open", "leat_inbox_delivery_duration_seconds",
		} {
			require.Len(t, l.Of(metric), limit+1, metric)
		}
		enqueued, sum := l.Of("leat_outbox_enqueued_messages_total"), 0.0
		for _, v := range enqueued {
			sum += v
		}
		require.InDelta(t, 2000, sum, 0)
		require.InDelta(t, 2000-2*limit, enqueued["outbox=main,topic="+metrics.Other], 0)
		for name := range l.All() {
			require.Less(t, strings.Count(name, "name-"), 3)
		}
	}
}

// TestBound_ForeignNames: a name that no label can hold is shown in a form that it can.
func TestBound_ForeignNames(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	for range 2 {
		o.OnOutboxEnqueue(context.Background(), outbox.EnqueueEvent{Messages: []outbox.Message{
			{Topic: "a\xff"}, {Topic: strings.Repeat("x", 1000)},
		}})
	}
	require.Equal(t, map[string]float64{"outbox=main,topic=a\uFFFD": 2, "outbox=main,topic=" + strings.Repeat("x", 255): 2},
		l.Of("leat_outbox_enqueued_messages_total"))
}

// TestMisuse: what makes no sense is refused, with the field and its value.
func TestMisuse(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	for want, call := range map[string]func() error{
		"backend":           func() error { _, err := metrics.New(nil, metrics.Config{}); return err },
		"MaxValues = -1":    func() error { _, err := metrics.New(l, metrics.Config{MaxValues: -1}); return err },
		"MaxValues = 10001": func() error { _, err := metrics.New(l, metrics.Config{MaxValues: 10_001}); return err },
		"Topics[1]":         func() error { _, err := metrics.New(l, metrics.Config{Topics: []string{"a", ""}}); return err },
		"Topics = 2: must not be more than MaxValues": func() error {
			_, err := metrics.New(l, metrics.Config{Topics: []string{"a", "b", "b"}, MaxValues: 1})
			return err
		},
		`name = ""`:           func() error { _, err := m.Outbox(""); return err },
		`"a\xff": must be va`: func() error { _, err := m.Outbox("a\xff"); return err },
		"at most 255":         func() error { _, err := o.Relay(strings.Repeat("x", 256)); return err },
		`inbox = ""`:          func() error { _, err := m.InboxMaintenance(""); return err },
		"at least one outbox": func() error { _, err := m.NewSampler(metrics.SamplerConfig{}); return err },
		"Interval = 1ms": func() error {
			_, err := m.NewSampler(metrics.SamplerConfig{Outboxes: map[string]oadmin.Outbox{"a": &asked{}}, Interval: time.Millisecond})
			return err
		},
		"Timeout = -1s": func() error {
			_, err := m.NewSampler(metrics.SamplerConfig{Outboxes: map[string]oadmin.Outbox{"a": &asked{}}, Timeout: -time.Second})
			return err
		},
		"Outboxes[a]": func() error {
			_, err := m.NewSampler(metrics.SamplerConfig{Outboxes: map[string]oadmin.Outbox{"a": nil}})
			return err
		},
		"Inboxes[a]": func() error {
			_, err := m.NewSampler(metrics.SamplerConfig{Inboxes: map[string]admin.Inbox{"a": nil}})
			return err
		},
	} {
		err := call()
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, want)
		require.ErrorContains(t, err, want)
	}
}
