package metrics_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestRelay_Counts: what a relay sends, is refused and sets aside is counted by topic.
func TestRelay_Counts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, l := ledger.New(t, metrics.Config{Topics: []string{"orders", "mail"}})
		s := newService(t, m, &moody{}, relay.Config{})
		for _, fresh := range []string{"leat_outbox_enqueued_messages_total", "leat_relay_sent_messages_total", "leat_relay_held_messages_total", "leat_relay_errors_total"} {
			require.NotEmpty(t, l.Of(fresh), fresh)
			for labels, v := range l.Of(fresh) {
				require.Zero(t, v, "%s{%s} begins at 0", fresh, labels)
			}
		}
		s.put(t, outbox.Message{ID: "a", Topic: "orders", Key: "1", Payload: []byte("four")},
			outbox.Message{ID: "b", Topic: "mail", Key: "2"}, outbox.Message{ID: "bad", Topic: "orders", Key: "3"})
		elapse(t, 4*time.Second)
		_, err := s.relay.RunOnce(t.Context())
		require.NoError(t, err)

		require.Equal(t, map[string]float64{"outbox=main,topic=orders": 2, "outbox=main,topic=mail": 1},
			l.Of("leat_outbox_enqueued_messages_total"))
		sent := l.Of("leat_relay_sent_messages_total")
		require.InDelta(t, 1, sent["outbox=main,group=default,topic=orders,outcome=delivered"], 0)
		require.InDelta(t, 1, sent["outbox=main,group=default,topic=mail,outcome=delivered"], 0)
		require.Positive(t, sent["outbox=main,group=default,topic=orders,outcome=permanent"])
		require.Contains(t, sent, "outbox=main,group=default,topic=mail,outcome=not_sent")
		require.Equal(t, map[string]float64{"outbox=main,group=default,topic=orders": 4, "outbox=main,group=default,topic=mail": 0},
			l.Of("leat_relay_sent_bytes_total"))
		require.Equal(t, map[string]float64{"outbox=main,group=default,slot=0": 3}, l.Of("leat_relay_settled_messages_total"))
		require.InDelta(t, 1, l.Of("leat_relay_held_messages_total")["outbox=main,group=default,topic=orders,fate=park"], 0)
		require.InDelta(t, 1, l.Of("leat_relay_alarms_total")["outbox=main,group=default,kind=parked"], 0)
		latency := "leat_relay_dispatch_latency_seconds{outbox=main,group=default,topic=orders}"
		require.InDelta(t, 1, l.Of("leat_relay_dispatch_latency_seconds")["outbox=main,group=default,topic=orders"], 0)
		require.InDelta(t, 4, l.Sum(latency), 0.5, "the message waited for four seconds")
	})
}

// TestRelay_State: lease, breaker, alarms and the last ack are shown as they are at the
// moment, and an end of each as 0.
func TestRelay_State(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const group = "outbox=main,group=default"
		m, l := ledger.New(t, metrics.Config{})
		sink := awayFor(1 << 30)
		s := newService(t, m, sink, relay.Config{SLO: 10 * time.Second})
		require.Equal(t, map[string]float64{group + ",slot=0": 0}, l.Of("leat_relay_lease_held"))
		s.put(t, outbox.Message{ID: "a", Topic: "orders"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.relay.Run(ctx) }()
		elapse(t, time.Minute)
		require.Equal(t, map[string]float64{group + ",slot=0": 1}, l.Of("leat_relay_lease_held"))
		require.Equal(t, map[string]float64{group + ",topic=orders": 1}, l.Of("leat_relay_breaker_open"))
		require.InDelta(t, 1, l.Of("leat_relay_alarm_active")[group+",kind=lag"], 0)
		require.Zero(t, l.Of("leat_relay_alarm_active")[group+",kind=stuck"])
		require.Zero(t, l.Of("leat_relay_last_ack_timestamp_seconds")[group])

		sink.away.Store(0)
		elapse(t, time.Minute)
		require.Equal(t, map[string]float64{group + ",topic=orders": 0}, l.Of("leat_relay_breaker_open"))
		require.Zero(t, l.Of("leat_relay_alarm_active")[group+",kind=lag"])
		require.InDelta(t, float64(time.Now().Unix()), l.Of("leat_relay_last_ack_timestamp_seconds")[group], 60)
		cancel()
		require.NoError(t, <-ended)
		require.Equal(t, map[string]float64{group + ",slot=0": 0}, l.Of("leat_relay_lease_held"))
	})
}

// TestRelay_TwoInOneProcess: two relays of a group are one series, with the greater value.
func TestRelay_TwoInOneProcess(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	a, err := o.Relay("default")
	require.NoError(t, err)
	b, err := o.Relay("default")
	require.NoError(t, err)
	leader := state{Slots: []relay.SlotState{{Slot: 1}}, LastAck: time.Unix(100, 0)}
	stop := a.Watch(leader)
	b.Watch(state{LastAck: time.Unix(50, 0)})
	require.Equal(t, map[string]float64{"outbox=main,group=default,slot=0": 0, "outbox=main,group=default,slot=1": 1}, l.Of("leat_relay_lease_held"))
	require.Equal(t, map[string]float64{"outbox=main,group=default": 100}, l.Of("leat_relay_last_ack_timestamp_seconds"))
	stop()
	require.Equal(t, map[string]float64{"outbox=main,group=default": 50}, l.Of("leat_relay_last_ack_timestamp_seconds"))
}

// state is a relay that is in this state.
type state relay.State

func (s state) State() relay.State { return relay.State(s) }
