package metrics_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// picky takes everything but the message called bad.
type picky struct{}

func (picky) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	for i := range records {
		if records[i].ID == "bad" {
			results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("no"))
		}
	}
	return results
}

// TestPostgres: what an outbox in PostgreSQL, its relay and its maintenance go through is
// what the metrics say.
//
//leat:level 1
func TestPostgres(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), testenv.Postgres(t)
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	hook, err := o.Relay("default")
	require.NoError(t, err)
	keep := o.Maintenance()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{Hooks: []outbox.Hook{o}})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(ctx))
	sampler, err := m.NewSampler(metrics.SamplerConfig{Outboxes: map[string]admin.Outbox{"main": ob.Admin()}, Interval: time.Hour, Timeout: time.Minute})
	require.NoError(t, err)
	put(t, ob, outbox.Message{ID: "a", Topic: "orders", Key: "1"}, outbox.Message{ID: "bad", Topic: "orders", Key: "2"},
		outbox.Message{ID: "c", Topic: "orders", NotBefore: time.Now().Add(time.Hour)})
	run(t, ob, hook)
	put(t, ob, outbox.Message{ID: "d", Topic: "orders", Key: "1"})
	maintain(t, ob, keep)
	require.NoError(t, sampler.Sample(ctx))

	const group, slot = "outbox=main,group=default", "outbox=main,group=default,slot=0"
	require.Equal(t, map[string]float64{"outbox=main,topic=orders": 4}, l.Of("leat_outbox_enqueued_messages_total"))
	require.InDelta(t, 1, l.Of("leat_relay_sent_messages_total")[group+",topic=orders,outcome=delivered"], 0)
	require.Equal(t, map[string]float64{slot: 2}, l.Of("leat_relay_settled_messages_total"))
	require.InDelta(t, 1, l.Of("leat_outbox_held_messages")[group+",state=parked"], 0)
	require.Equal(t, map[string]float64{slot: 1}, l.Of("leat_outbox_backlog_messages"))
	require.Positive(t, l.Of("leat_outbox_lag_seconds")[slot])
	require.Equal(t, map[string]float64{slot: 0}, l.Of("leat_outbox_lease_remaining_seconds"), "RunOnce has given up its lease")
	require.Equal(t, map[string]float64{slot: 0}, l.Of("leat_outbox_position_unusable"))
	require.Equal(t, map[string]float64{"outbox=main": 1}, l.Of("leat_outbox_delayed_messages"))
	require.Positive(t, l.Of("leat_outbox_log_bytes")["outbox=main"])
	require.Positive(t, l.Of("leat_outbox_ranges_ahead")["outbox=main"])
	require.InDelta(t, 1, l.Of("leat_outbox_maintenance_rounds_total")["outbox=main,outcome=ok"], 0)
	require.InDelta(t, float64(time.Now().Unix()), l.Of("leat_outbox_maintenance_last_success_timestamp_seconds")["outbox=main"], 600)
	require.InDelta(t, 1, l.Of("leat_outbox_alarm_active")["outbox=main,kind=history_pinned"], 0)
	require.InDelta(t, 1, l.Of("leat_outbox_alarms_total")["outbox=main,kind=history_pinned"], 0)

	run(t, ob, hook)
	require.NoError(t, sampler.Sample(ctx))
	require.Equal(t, map[string]float64{slot: 0}, l.Of("leat_outbox_lag_seconds"))
}

// TestPostgres_Errors: figures that cannot be read are an error that is counted, and absent.
//
//leat:level 1
func TestPostgres_Errors(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), testenv.Postgres(t)
	m, l := ledger.New(t, metrics.Config{})
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(ctx))
	sampler, err := m.NewSampler(metrics.SamplerConfig{Outboxes: map[string]admin.Outbox{"main": ob.Admin()}, Timeout: time.Minute})
	require.NoError(t, err)
	_, err = db.Pool.Exec(ctx, "ALTER TABLE leat.outbox_held RENAME TO elsewhere")
	require.NoError(t, err)
	require.ErrorContains(t, sampler.Sample(ctx), `sample of "main"`)
	require.Equal(t, map[string]float64{"outbox=main": 1}, l.Of("leat_outbox_stats_errors_total"))
	require.Empty(t, l.Of("leat_outbox_lag_seconds"))
}

func put(t *testing.T, ob *pgoutbox.Outbox, messages ...outbox.Message) {
	t.Helper()
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, messages...)
	}))
}

// run relays what there is.
func run(t *testing.T, ob *pgoutbox.Outbox, hook *metrics.Relay) {
	t.Helper()
	source, err := ob.Source(pgoutbox.SourceConfig{})
	require.NoError(t, err)
	r, err := relay.New(source, picky{}, relay.Config{Hooks: []outbox.Hook{hook}})
	require.NoError(t, err)
	defer hook.Watch(r)()
	_, err = r.RunOnce(t.Context())
	require.NoError(t, err)
}

// maintain runs a round that finds everything too old.
func maintain(t *testing.T, ob *pgoutbox.Outbox, keep *metrics.Maintenance) {
	t.Helper()
	w, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{Retention: time.Microsecond, Hooks: []outbox.Hook{keep}})
	require.NoError(t, err)
	_, err = w.RunOnce(t.Context())
	require.NoError(t, err)
}

// TestPostgres_Inbox: maintenance of an inbox's tables, and what is parked in them.
//
//leat:level 1
func TestPostgres_Inbox(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), testenv.Postgres(t)
	m, l := ledger.New(t, metrics.Config{})
	hook, err := m.InboxMaintenance("orders")
	require.NoError(t, err)
	in, err := pginbox.New(db.Pool, "loyalty", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(ctx))
	w, err := pginbox.NewMaintenance(db.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{Hooks: []outbox.Hook{hook}})
	require.NoError(t, err)
	_, err = w.RunOnce(ctx)
	require.Error(t, err, "Enable comes first")
	require.NoError(t, w.Enable(ctx))
	_, err = w.RunOnce(ctx)
	require.NoError(t, err)
	look, err := pginbox.NewAdmin(db.Pool, pginbox.Config{})
	require.NoError(t, err)
	sampler, err := m.NewSampler(metrics.SamplerConfig{Inboxes: map[string]inboxadmin.Inbox{"orders": look}, Timeout: time.Minute})
	require.NoError(t, err)
	require.NoError(t, sampler.Sample(ctx))
	require.InDelta(t, 1, l.Of("leat_inbox_maintenance_rounds_total")["inbox=orders,outcome=ok"], 0)
	require.Positive(t, l.Of("leat_inbox_maintenance_last_success_timestamp_seconds")["inbox=orders"])
	require.Equal(t, map[string]float64{"inbox=orders": 0}, l.Of("leat_inbox_parked_messages"))
}

// TestHooks_Events: alarms that last count once, those without an end each time, and a round
// that was stopped counts as none.
func TestHooks_Events(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m, l := ledger.New(t, metrics.Config{})
	in, err := m.InboxMaintenance("orders")
	require.NoError(t, err)
	for range 2 {
		in.OnOutboxAlarm(ctx, outbox.AlarmEvent{Package: "pginbox", Kind: pginbox.AlarmClock})
		in.OnOutboxAlarm(ctx, outbox.AlarmEvent{Package: "pginbox", Kind: pginbox.AlarmTooOld})
		in.OnOutboxAlarm(ctx, outbox.AlarmEvent{Package: "pgwatermark", Kind: pgwatermark.AlarmMissing})
	}
	raised := l.Of("leat_inbox_alarms_total")
	require.InDelta(t, 1, raised["inbox=orders,kind=clock"], 0)
	require.InDelta(t, 2, raised["inbox=orders,kind=too_old"], 0)
	require.InDelta(t, 2, raised["inbox=orders,kind=missing"], 0)
	var kinds []string
	for _, kind := range []outbox.AlarmKind{
		pginbox.AlarmTooOld, pginbox.AlarmTooNew, pginbox.AlarmRangeMissing, pginbox.AlarmBusy, pginbox.AlarmClock, pginbox.AlarmRetention,
		pgwatermark.AlarmNewSource, pgwatermark.AlarmBeyondEnd, pgwatermark.AlarmMissing,
	} {
		kinds = append(kinds, "inbox=orders,kind="+string(kind))
	}
	require.ElementsMatch(t, kinds, slices.Collect(maps.Keys(raised)), "all are shown from the start")

	o, err := m.Outbox("main")
	require.NoError(t, err)
	keep := o.Maintenance()
	kinds = nil
	for _, kind := range []outbox.AlarmKind{
		pgoutbox.AlarmHistoryPinned, pgoutbox.AlarmLag, pgoutbox.AlarmLagExceeded, pgoutbox.AlarmTailInUse,
		pgoutbox.AlarmPositionUnusable, pgoutbox.AlarmBusy, pgoutbox.AlarmClock,
	} {
		kinds = append(kinds, "outbox=main,kind="+string(kind))
	}
	require.ElementsMatch(t, kinds, slices.Collect(maps.Keys(l.Of("leat_outbox_alarm_active"))))
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	keep.OnAdminMaintenance(stopped, admin.MaintenanceEvent{Err: stopped.Err()})
	in.OnAdminMaintenance(stopped, admin.MaintenanceEvent{Err: stopped.Err()})
	keep.OnAdminMaintenance(ctx, admin.MaintenanceEvent{Between: true})
	keep.OnAdminMaintenance(ctx, admin.MaintenanceEvent{Err: errors.New("no")})
	require.Equal(t, map[string]float64{"outbox=main,outcome=ok": 1, "outbox=main,outcome=failed": 1}, l.Of("leat_outbox_maintenance_rounds_total"))
	require.Equal(t, map[string]float64{"outbox=main": 0}, l.Of("leat_outbox_maintenance_last_success_timestamp_seconds"))
	require.Equal(t, map[string]float64{"inbox=orders,outcome=ok": 0, "inbox=orders,outcome=failed": 0}, l.Of("leat_inbox_maintenance_rounds_total"))
}

// TestTail: a tail is shown once it is observed, and as it is.
func TestTail(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	r, err := o.Relay("default")
	require.NoError(t, err)
	require.Empty(t, l.Of("leat_relay_tail_follows"), "there is none")
	hook := r.Tail()
	for _, e := range []driver.TailEvent{{Err: errors.New("no publication")}, {Follows: true}, {Err: context.Canceled}} {
		hook.OnDriverTail(t.Context(), e)
		want := 0.0
		if e.Follows {
			want = 1
		}
		require.Equal(t, map[string]float64{"outbox=main,group=default": want}, l.Of("leat_relay_tail_follows"))
	}
}
