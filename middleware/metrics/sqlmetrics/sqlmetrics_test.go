package sqlmetrics_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/internal/ledger"
	"github.com/leat-go/leat/middleware/metrics/sqlmetrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

func stopped(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	o, err := m.Outbox("main")
	require.NoError(t, err)
	hook, err := sqlmetrics.NewMaintenance(o)
	require.NoError(t, err)
	hook.OnSqloutboxMaintenance(t.Context(), sqloutbox.MaintenanceEvent{Between: true, Report: sqloutbox.MaintenanceReport{Promoted: 2}})
	require.Zero(t, l.Of("leat_outbox_maintenance_last_success_timestamp_seconds")["outbox=main"], "that was no round")
	for _, err := range []error{nil, nil, errBroken} {
		hook.OnSqloutboxMaintenance(t.Context(), sqloutbox.MaintenanceEvent{Err: err})
	}
	hook.OnSqloutboxMaintenance(stopped(t), sqloutbox.MaintenanceEvent{Err: context.Canceled})
	require.Equal(t, map[string]float64{"outbox=main,outcome=ok": 3, "outbox=main,outcome=failed": 1}, l.Of("leat_outbox_maintenance_rounds_total"))
	require.InDelta(t, float64(time.Now().Unix()), l.Of("leat_outbox_maintenance_last_success_timestamp_seconds")["outbox=main"], 600)

	_, err = sqlmetrics.NewMaintenance(nil)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

func TestInbox(t *testing.T) {
	t.Parallel()
	m, l := ledger.New(t, metrics.Config{})
	hook, err := sqlmetrics.NewInbox(m, "orders")
	require.NoError(t, err)
	for _, err := range []error{nil, errBroken, errBroken} {
		hook.OnSqlinboxMaintenance(t.Context(), sqlinbox.MaintenanceEvent{Err: err})
	}
	hook.OnSqlinboxMaintenance(stopped(t), sqlinbox.MaintenanceEvent{Err: context.Canceled})
	require.Equal(t, map[string]float64{"inbox=orders,outcome=ok": 1, "inbox=orders,outcome=failed": 2}, l.Of("leat_inbox_maintenance_rounds_total"))

	_, err = sqlmetrics.NewInbox(nil, "orders")
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = sqlmetrics.NewInbox(m, "")
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}
