package pgoutbox

import (
	"context"
	"time"
)

// Promote is promote, for tests.
func Promote(ctx context.Context, ob *Outbox) (moved int64, stayed bool, err error) {
	return ob.promote(ctx)
}

// PromoteDue is promoteDue, for tests.
func PromoteDue(ctx context.Context, m *Maintenance) (time.Duration, error) {
	return m.promoteDue(ctx)
}

// MaintenanceStatement returns a statement of maintenance, for one range.
func MaintenanceStatement(ob *Outbox, name, table string) (string, error) {
	s, err := renderMaintenance(ob.cfg)
	sql := map[string]string{"pins": s.pins, "lags": s.lags, "chunk": s.chunkDrop}[name]
	return ob.of(table, sql), err
}
