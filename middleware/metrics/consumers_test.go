package metrics_test

import (
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	inboxdriver "github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/onehandler/routed"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// TestConsumers_Count: deliveries are counted by consumer and outcome, at the inbox, at the
// cache in front of it, at the deduplicator and at the handler.
func TestConsumers_Count(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	consume(t, m)
	in := l.Of("leat_inbox_deliveries_total")
	require.InDelta(t, 1, in["consumer=loyalty,outcome=committed"], 0)
	require.InDelta(t, 1, in["consumer=loyalty,outcome=failed"], 0)
	require.InDelta(t, 1, in["consumer=loyalty,outcome=panicked"], 0)
	require.Contains(t, in, "consumer=loyalty,outcome=given_up")
	require.Equal(t, map[string]float64{"consumer=loyalty": 3}, l.Of("leat_inbox_delivery_duration_seconds"))
	require.Equal(t, map[string]float64{"consumer=loyalty": 1}, l.Of("leat_inbox_end_to_end_seconds"), "of what took effect")
	require.Equal(t, map[string]float64{
		"consumer=loyalty,outcome=missed": 3, "consumer=loyalty,outcome=skipped": 1, "consumer=loyalty,outcome=outlived": 0,
	}, l.Of("leat_cache_looks_total"))
	leased := l.Of("leat_dedupe_deliveries_total")
	require.InDelta(t, 1, leased["consumer=billing,outcome=ran"], 0)
	require.InDelta(t, 1, leased["consumer=billing,outcome=duplicate"], 0)
	require.Equal(t, map[string]float64{"handler=,outcome=ok": 2, "handler=,outcome=failed": 1, "handler=,outcome=panicked": 1},
		l.Of("leat_handler_duration_seconds"))
}

// TestConsumers_Handlers: a handler is counted by the name that the router gives it. The
// middleware passes on what the handler returns.
func TestConsumers_Handlers(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	msg, err := routed.Message(t.Context(), "points", "order-1")
	require.NoError(t, err)
	answer, errHandler := []*message.Message{msg}, errors.New("no")
	got, err := m.Consumers().Middleware(func(*message.Message) ([]*message.Message, error) { return answer, errHandler })(msg)
	require.Equal(t, answer, got)
	require.Equal(t, errHandler, err)
	require.Equal(t, map[string]float64{"handler=points,outcome=ok": 0, "handler=points,outcome=failed": 1, "handler=points,outcome=panicked": 0},
		l.Of("leat_handler_duration_seconds"))
}

// TestSource_Counts: deliveries are counted by how they ended; offsets that the broker has deleted
// are those of assignments, and a partition that is given up tells of none.
func TestSource_Counts(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	s := m.Source()
	see := func(topic, kind string, deleted int64) {
		s.OnDriverSource(t.Context(), inboxdriver.SourceEvent{Group: "g", Topic: topic, Kind: kind, Deleted: deleted})
	}
	see("mail", kafkasource.Assigned, 0)
	require.Equal(t, map[string]float64{"consumer_group=g,topic=mail": 0}, l.Of("leat_source_deleted_offsets_total"))
	see("orders", kafkasource.Assigned, 7)
	see("orders", kafkasource.Lost, 9)
	kinds := []string{kafkasource.OutcomeAcked, kafkasource.OutcomeNacked, kafkasource.OutcomeMalformed, kafkasource.OutcomeAbandoned}
	want := map[string]float64{}
	for i, kind := range kinds {
		for range i + 1 {
			see("orders", kind, 0)
		}
		want["consumer_group=g,topic=orders,outcome="+kind] = float64(i + 1)
		want["consumer_group=g,topic=mail,outcome="+kind] = 0
	}
	s.OnDriverSource(t.Context(), inboxdriver.SourceEvent{Group: "g", Topic: "orders", Kind: kafkasource.Assigned, WentBack: 5})
	require.Equal(t, map[string]float64{"consumer_group=g,topic=mail": 0, "consumer_group=g,topic=orders": 5}, l.Of("leat_source_went_back_offsets_total"))
	see("orders", "unheard of", 0)
	require.Equal(t, map[string]float64{"consumer_group=g,topic=orders": 7, "consumer_group=g,topic=mail": 0},
		l.Of("leat_source_deleted_offsets_total"))
	require.Equal(t, want, l.Of("leat_source_deliveries_total"))
}

// TestRelay_ClientReplaced: a client that is replaced counts for its relay.
func TestRelay_ClientReplaced(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	r, err := o.Relay("default")
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"outbox=main,group=default": 0}, l.Of("leat_relay_client_replacements_total"))
	r.OnDriverReplace(t.Context(), driver.ReplaceEvent{})
	require.Equal(t, map[string]float64{"outbox=main,group=default": 1}, l.Of("leat_relay_client_replacements_total"))
}

// TestMaintenance_Alarms: an alarm counts once while it lasts, and again when it comes back.
func TestMaintenance_Alarms(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	w := o.Maintenance()
	const lag = "outbox=main,kind=lag"
	raise := func(group string, ended bool) {
		w.OnOutboxAlarm(t.Context(), outbox.AlarmEvent{Package: "pgoutbox", Kind: "lag", Group: group, Ended: ended})
	}
	require.Zero(t, l.Of("leat_outbox_alarm_active")[lag])
	raise("audit", false)
	raise("audit", false)
	raise("default", false)
	raise("audit", true)
	require.InDelta(t, 2, l.Of("leat_outbox_alarms_total")[lag], 0)
	require.InDelta(t, 1, l.Of("leat_outbox_alarm_active")[lag], 0)
	raise("default", true)
	require.Zero(t, l.Of("leat_outbox_alarm_active")[lag])
	raise("audit", false)
	w.OnOutboxAlarm(t.Context(), outbox.AlarmEvent{Kind: "other"})
	require.InDelta(t, 3, l.Of("leat_outbox_alarms_total")[lag], 0)
	require.InDelta(t, 1, l.Of("leat_outbox_alarms_total")["outbox=main,kind=other"], 0)

	require.Equal(t, map[string]float64{"outbox=main": 0}, l.Of("leat_outbox_maintenance_last_success_timestamp_seconds"))
	w.OnAdminMaintenance(t.Context(), admin.MaintenanceEvent{Err: errors.New("no")})
	w.OnAdminMaintenance(t.Context(), admin.MaintenanceEvent{Between: true})
	require.Equal(t, map[string]float64{"outbox=main": 0}, l.Of("leat_outbox_maintenance_last_success_timestamp_seconds"))
	w.OnAdminMaintenance(t.Context(), admin.MaintenanceEvent{})
	require.Positive(t, l.Of("leat_outbox_maintenance_last_success_timestamp_seconds")["outbox=main"])
	require.Equal(t, map[string]float64{"outbox=main,outcome=ok": 2, "outbox=main,outcome=failed": 1}, l.Of("leat_outbox_maintenance_rounds_total"))
}
