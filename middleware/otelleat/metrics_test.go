package otelleat_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/otelleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

var errRefused = errors.New("refused")

// TestInstruments_AreTheTable: each row is an instrument, by its name, kind, unit, help and
// bounds, and there are no others.
func TestInstruments_AreTheTable(t *testing.T) {
	t.Parallel()
	r := newReadings()
	_, err := otelleat.NewMetrics(r, otelleat.MetricsConfig{})
	require.NoError(t, err)
	want, gauges := map[string]instrument{}, map[string]bool{}
	for _, d := range metrics.Table() {
		want[d.OTel] = instrument{string(d.Kind), d.Unit, d.Help, d.Buckets}
		if d.Kind == metrics.KindGauge {
			gauges[d.OTel] = true
		}
	}
	require.Equal(t, want, r.instruments)
	require.Equal(t, gauges, r.observed)
}

// TestSeries: what has happened is recorded with the labels of the table, or those of the
// conventions for messaging, and counters begin at 0.
func TestSeries(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newReadings()
	m, err := otelleat.NewMetrics(r, otelleat.MetricsConfig{Config: metrics.Config{Topics: []string{"mail"}}, System: "rabbitmq"})
	require.NoError(t, err)
	o, err := m.Outbox("main")
	require.NoError(t, err)
	hook, err := o.Relay("default")
	require.NoError(t, err)
	hook.Watch(running{})
	o.OnOutboxEnqueue(ctx, outbox.EnqueueEvent{Messages: []outbox.Message{{Topic: "orders"}, {Topic: "orders"}}})
	require.Equal(t, map[string]float64{"outbox=main,topic=orders": 2, "outbox=main,topic=mail": 0}, r.of("leat.outbox.enqueued_messages"))

	record := outbox.Record{Message: outbox.Message{Topic: "orders", Payload: []byte("four")}, CreatedAt: time.Now()}
	hook.OnRelaySend(ctx, relay.SendEvent{Records: []outbox.Record{record}, Results: make([]outbox.Result, 1), Took: time.Second})
	sent := r.of("messaging.client.sent.messages")
	const conventions = "messaging.operation.name=send,messaging.system=rabbitmq,"
	require.InDelta(t, 1, sent["group=default,messaging.destination.name=orders,"+conventions+"outbox=main,outcome=delivered"], 0)
	require.Contains(t, sent, "group=default,messaging.destination.name=mail,"+conventions+"outbox=main,outcome=outage")
	require.Equal(t, map[string]float64{"group=default," + conventions + "outbox=main": 1}, r.of("messaging.client.operation.duration"))
	require.InDelta(t, 4, r.of("leat.relay.sent")["group=default,outbox=main,topic=orders"], 0)

	m.Consumers().OnInboxDelivery(ctx, inbox.DeliveryEvent{Consumer: "loyalty", Outcome: inbox.OutcomeCommitted})
	require.Equal(t, map[string]float64{"consumer=loyalty,messaging.operation.name=process,messaging.system=rabbitmq": 1},
		r.of("messaging.process.duration"))

	require.NoError(t, r.callback(ctx, observer{r: r}))
	require.Equal(t, map[string]float64{"group=default,outbox=main,slot=0": 1}, r.of("leat.relay.lease_held"))
}

// running is a relay that leads slot 0.
type running struct{}

func (running) State() relay.State { return relay.State{Running: true, Slots: []relay.SlotState{{}}} }

// TestNew_Errors: what makes no sense is refused, and the provider's errors name the
// instrument.
func TestNewMetrics_Errors(t *testing.T) {
	t.Parallel()
	_, err := otelleat.NewMetrics(nil, otelleat.MetricsConfig{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = otelleat.NewMetrics(newReadings(), otelleat.MetricsConfig{Config: metrics.Config{MaxValues: -1}})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	r := newReadings()
	r.refuse = "leat.outbox.lag"
	_, err = otelleat.NewMetrics(r, otelleat.MetricsConfig{})
	require.ErrorIs(t, err, errRefused)
	require.ErrorContains(t, err, "leat.outbox.lag")
}
