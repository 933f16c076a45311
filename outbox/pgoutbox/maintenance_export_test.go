package pgoutbox

import "context"

// Promote is promote, for tests.
func Promote(ctx context.Context, ob *Outbox) (moved int64, stayed bool, err error) {
	return ob.promote(ctx)
}

// MaintenanceStatement returns a statement of maintenance, for one range.
func MaintenanceStatement(ob *Outbox, name, table string) (string, error) {
	s, err := renderMaintenance(ob.cfg)
	sql := map[string]string{"pins": s.pins, "lags": s.lags, "chunk": s.chunkDrop}[name]
	return ob.of(table, sql), err
}
