package metrics_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// TestTable_EveryMetricMoves: no metric of the table stays at 0 in a life with all kinds of
// trouble, and none is shown that the table does not have.
func TestTable_EveryMetricMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, l := ledger.New(t, metrics.Config{})
		trouble(t, m)
		moved := l.Moved()
		for _, d := range metrics.Table() {
			require.True(t, moved[d.Name], "%s has not moved", d.Name)
			delete(moved, d.Name)
		}
		require.Empty(t, moved)
	})
}

// trouble is a life with all kinds of trouble. It returns while a relay leads whose
// destination is out.
func trouble(t *testing.T, m *metrics.Metrics) {
	t.Helper()
	sink := &moody{}
	s := newService(t, m, sink, relay.Config{SLO: 10 * time.Second})
	s.put(t, outbox.Message{ID: "a", Topic: "orders", Payload: []byte("paid")}, outbox.Message{ID: "bad", Topic: "orders", Key: "k"})
	elapse(t, time.Second)
	_, err := s.relay.RunOnce(t.Context())
	require.NoError(t, err)
	sink.away.Store(1 << 30)
	s.put(t, outbox.Message{ID: "b", Topic: "orders"})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	o.OnOutboxEnqueue(t.Context(), outbox.EnqueueEvent{Took: time.Second, Err: errors.New("no")})
	r, err := o.Relay("default")
	require.NoError(t, err)
	r.OnDriverReplace(t.Context(), driver.ReplaceEvent{})
	r.Tail().OnDriverTail(t.Context(), driver.TailEvent{Follows: true})
	r.OnRelayError(t.Context(), relay.ErrorEvent{Operation: "read"})
	w := o.Maintenance()
	w.OnAdminMaintenance(t.Context(), admin.MaintenanceEvent{})
	w.OnOutboxAlarm(t.Context(), outbox.AlarmEvent{Kind: "lag", Group: "default"})
	in, err := m.InboxMaintenance("orders")
	require.NoError(t, err)
	in.OnAdminMaintenance(t.Context(), admin.MaintenanceEvent{})
	in.OnOutboxAlarm(t.Context(), outbox.AlarmEvent{Kind: "too_old"})
	consume(t, m)
	src := m.Source()
	src.OnDriverSource(t.Context(), inboxdriver.SourceEvent{Group: "g", Topic: "orders", Kind: "assigned", Deleted: 3, WentBack: 2})
	src.OnDriverSource(t.Context(), inboxdriver.SourceEvent{Group: "g", Topic: "orders", Kind: "acked"})
	for _, err := range []error{nil, errors.New("away")} {
		ob := &asked{stats: figures(), err: err}
		sampler, serr := m.NewSampler(metrics.SamplerConfig{
			Outboxes: map[string]admin.Outbox{"main": ob},
			Inboxes:  map[string]inboxadmin.Inbox{"orders": &failing{stats: inboxadmin.Stats{Parked: 2, Failing: 1}, err: err}},
			Interval: time.Hour,
		})
		require.NoError(t, serr)
		require.ErrorIs(t, sampler.Sample(t.Context()), err)
	}
	lead(t, s.relay)
	elapse(t, time.Minute)
}

// TestTable_Conventions: names are unique, words of Prometheus's conventions, and say their
// unit; labels are those that are bounded.
func TestTable_Conventions(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"outbox", "group", "slot", "topic", "outcome", "fate", "operation", "kind", "state",
		"inbox", "consumer", "consumer_group", "handler",
	}
	names := map[string]bool{}
	for _, d := range metrics.Table() {
		require.Regexp(t, `^leat_[a-z]+(_[a-z]+)+$`, d.Name)
		require.False(t, names[d.Name] || names[d.OTel], d.Name)
		names[d.Name], names[d.OTel] = true, true
		require.Equal(t, d.Kind == metrics.KindCounter, strings.HasSuffix(d.Name, "_total"), d.Name)
		require.Equal(t, d.Kind == metrics.KindHistogram, len(d.Buckets) > 0, d.Name)
		require.True(t, slices.IsSorted(d.Buckets), d.Name)
		require.Equal(t, d.Unit == "s", strings.Contains(d.Name, "_seconds"), d.Name)
		require.Equal(t, d.Unit == "By", strings.Contains(d.Name, "_bytes"), d.Name)
		require.True(t, strings.HasSuffix(d.Help, "."), d.Name)
		require.NotEmpty(t, d.Labels, d.Name)
		for _, label := range d.Labels {
			require.Contains(t, allowed, label, d.Name)
		}
	}
}

// TestTable_OTelNames: a name of OpenTelemetry, with the unit and the kind as Prometheus's
// conventions add them, is the name of Prometheus; three are those of the conventions for
// messaging.
func TestTable_OTelNames(t *testing.T) {
	t.Parallel()
	conventions := map[string]string{}
	for _, d := range metrics.Table() {
		if strings.HasPrefix(d.OTel, "messaging.") {
			conventions[d.OTel] = d.Name
			continue
		}
		name := strings.ReplaceAll(d.OTel, ".", "_")
		switch d.Unit {
		case "s":
			name += "_seconds"
		case "By":
			name += "_bytes"
		}
		if d.Kind == metrics.KindCounter {
			name += "_total"
		}
		require.Equal(t, d.Name, name, d.OTel)
		require.Regexp(t, `^leat\.[a-z]+\.[a-z_]+$`, d.OTel)
	}
	require.Equal(t, map[string]string{
		"messaging.client.sent.messages":      "leat_relay_sent_messages_total",
		"messaging.client.operation.duration": "leat_relay_publish_duration_seconds",
		"messaging.process.duration":          "leat_inbox_delivery_duration_seconds",
	}, conventions)
}

// TestTable_IsACopy: what a caller does to it changes nothing.
func TestTable_IsACopy(t *testing.T) {
	t.Parallel()
	table := metrics.Table()
	table[0].Name, table[0].Labels[0] = "x", "y"
	require.NotEqual(t, "x", metrics.Table()[0].Name)
	require.Equal(t, "outbox", metrics.Table()[0].Labels[0])
}
