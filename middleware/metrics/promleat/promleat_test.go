package promleat_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// everything returns a registry in which each metric of the table has a series.
func everything(t *testing.T) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := promleat.New(reg, metrics.Config{Topics: []string{"orders"}})
	require.NoError(t, err)
	o, err := m.Outbox("main")
	require.NoError(t, err)
	hook, err := o.Relay("default")
	require.NoError(t, err)
	ob, err := memoutbox.New(memoutbox.Config{Hooks: []outbox.Hook{o}})
	require.NoError(t, err)
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{ID: "a", Topic: "orders", Payload: []byte("paid")})
	}))
	sink, err := relay.Func(func(context.Context, outbox.Record) error { return nil }, relay.FuncConfig{})
	require.NoError(t, err)
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{Hooks: []outbox.Hook{hook}})
	require.NoError(t, err)
	hook.Watch(clocked{r})
	hook.Tail()
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
	o.Maintenance()
	_, err = m.InboxMaintenance("orders")
	require.NoError(t, err)
	c := m.Consumers("loyalty")
	c.OnInboxDelivery(t.Context(), inbox.DeliveryEvent{Consumer: "loyalty", Outcome: inbox.OutcomeCommitted, Took: time.Second})
	touch(t.Context(), c)
	m.Source().OnDriverSource(t.Context(), inboxdriver.SourceEvent{Group: "g", Topic: "orders", Kind: "assigned"})
	s, err := m.NewSampler(metrics.SamplerConfig{
		Outboxes: map[string]admin.Outbox{"main": ranged{ob.Admin()}},
		Inboxes:  map[string]inboxadmin.Inbox{"orders": meminbox.NewAdmin(&meminbox.Store{})},
	})
	require.NoError(t, err)
	require.NoError(t, s.Sample(t.Context()))
	return reg
}

// clocked is a relay whose database tells its time, which memory does not.
type clocked struct{ *relay.Relay }

func (c clocked) State() relay.State {
	s := c.Relay.State()
	s.ClockAt = time.Now()
	return s
}

// ranged is an outbox whose log has ranges, as no outbox in memory has.
type ranged struct{ admin.Outbox }

func (r ranged) Stats(ctx context.Context) (admin.Stats, error) {
	st, err := r.Outbox.Stats(ctx)
	st.Ranges = 1
	return st, err
}

// TestScrape: a scrape has every metric of the table, by its name, kind, help and labels,
// and nothing else.
func TestScrape(t *testing.T) {
	t.Parallel()
	families, err := everything(t).Gather()
	require.NoError(t, err)
	defined := map[string]metrics.Definition{}
	for _, d := range metrics.Table() {
		defined[d.Name] = d
	}
	for _, f := range families {
		d, ok := defined[f.GetName()]
		require.True(t, ok, f.GetName())
		delete(defined, f.GetName())
		require.Equal(t, strings.ToUpper(string(d.Kind)), f.GetType().String(), d.Name)
		require.Equal(t, d.Help, f.GetHelp())
		for _, series := range f.GetMetric() {
			var labels []string
			for _, l := range series.GetLabel() {
				labels = append(labels, l.GetName())
			}
			require.ElementsMatch(t, d.Labels, labels, d.Name)
		}
	}
	require.Empty(t, slices.Collect(maps.Keys(defined)), "metrics without series")
}

// TestScrape_Values: what has happened is what a scrape says.
func TestScrape_Values(t *testing.T) {
	t.Parallel()
	require.NoError(t, testutil.GatherAndCompare(everything(t), strings.NewReader(`
# HELP leat_outbox_enqueued_messages_total Enqueued messages, counted before commit or rollback.
# TYPE leat_outbox_enqueued_messages_total counter
leat_outbox_enqueued_messages_total{outbox="main",topic="orders"} 1
# HELP leat_relay_sent_bytes_total Bytes of delivered payloads.
# TYPE leat_relay_sent_bytes_total counter
leat_relay_sent_bytes_total{group="default",outbox="main",topic="orders"} 4
# HELP leat_outbox_backlog_messages Unsettled messages; estimated above 1,000.
# TYPE leat_outbox_backlog_messages gauge
leat_outbox_backlog_messages{group="default",outbox="main",slot="0"} 0
`), "leat_outbox_enqueued_messages_total", "leat_relay_sent_bytes_total", "leat_outbox_backlog_messages"))
}

// TestLint: Prometheus's own linter finds nothing in names, units and helps.
func TestLint(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(everything(t))
	require.NoError(t, err)
	require.Empty(t, problems)
}

// TestNew_Twice: the error of a second registration says what to do, and leaves the first
// one as it is. Another registry, or other labels, take one of their own.
func TestNew_Twice(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m, err := promleat.New(reg, metrics.Config{})
	require.NoError(t, err)
	_, err = promleat.New(reg, metrics.Config{})
	require.ErrorIs(t, err, promleat.ErrRegistered)
	require.ErrorContains(t, err, "share it")
	_, err = m.Outbox("main")
	require.NoError(t, err)
	n, err := testutil.GatherAndCount(reg, "leat_outbox_enqueue_errors_total")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = promleat.New(prometheus.WrapRegistererWith(prometheus.Labels{"service": "b"}, prometheus.NewRegistry()), metrics.Config{})
	require.NoError(t, err)
}

// TestNew_Foreign: if somebody else has one of the names, nothing is registered.
func TestNew_Foreign(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(prometheus.NewGauge(prometheus.GaugeOpts{Name: "leat_outbox_lag_seconds"})))
	_, err := promleat.New(reg, metrics.Config{})
	require.ErrorContains(t, err, "leat_outbox_lag_seconds")
	require.NotErrorIs(t, err, promleat.ErrRegistered)
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
}

// TestNew_Misuse: what makes no sense is refused.
func TestNew_Misuse(t *testing.T) {
	t.Parallel()
	_, err := promleat.New(nil, metrics.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	reg := prometheus.NewPedanticRegistry()
	_, err = promleat.New(reg, metrics.Config{MaxValues: -1})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = promleat.New(reg, metrics.Config{})
	require.NoError(t, err, "a configuration that was refused registers nothing")
}

// TestScrape_Concurrent: scrapes and events meet.
func TestScrape_Concurrent(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewPedanticRegistry()
	m, err := promleat.New(reg, metrics.Config{MaxValues: 3})
	require.NoError(t, err)
	o, err := m.Outbox("main")
	require.NoError(t, err)
	r, err := o.Relay("default")
	require.NoError(t, err)
	done := make(chan error)
	for g := range 4 {
		go func() {
			var err error
			for i := range 200 {
				topic := string(rune('a' + (g+i)%26))
				record := outbox.Record{Message: outbox.Message{Topic: topic}}
				o.OnOutboxEnqueue(context.Background(), outbox.EnqueueEvent{Messages: []outbox.Message{{Topic: topic}}})
				r.OnRelaySend(context.Background(), relay.SendEvent{Records: []outbox.Record{record}, Results: make([]outbox.Result, 1)})
				_, gathered := reg.Gather()
				err = errors.Join(err, gathered)
			}
			done <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	families, err := reg.Gather()
	require.NoError(t, err)
	total := 0.0
	for _, f := range families {
		if f.GetName() != "leat_outbox_enqueued_messages_total" {
			continue
		}
		require.Len(t, f.GetMetric(), 4)
		for _, series := range f.GetMetric() {
			total += series.GetCounter().GetValue()
		}
	}
	require.InDelta(t, 800, total, 0)
}
