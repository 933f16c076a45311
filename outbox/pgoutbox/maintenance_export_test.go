package pgoutbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
)

// DropOnce tries once to drop a range.
func DropOnce(ctx context.Context, m *Maintenance, part admin.Range) error {
	r := &round{Maintenance: m}
	return m.tx(ctx, func(tx pgx.Tx) error { return r.dropIn(ctx, tx, part, nil) })
}

// ExtendOnce tries once to create a range.
func ExtendOnce(ctx context.Context, m *Maintenance) error {
	r := &round{Maintenance: m}
	facts, err := m.ob.window.Facts(ctx, m.ob.pool)
	if err != nil {
		return err
	}
	r.sequence = facts.Sequence
	parts, err := m.parts(ctx)
	if err != nil {
		return err
	}
	return m.tx(ctx, func(tx pgx.Tx) error {
		plan, err := r.plan(ctx, tx, parts[len(parts)-1], 1)
		if err != nil {
			return err
		}
		return plan.run(ctx, tx)
	})
}

// CloseOnce closes the range in use if it holds a message and the lock on the log is free.
func CloseOnce(ctx context.Context, m *Maintenance) ([]string, error) {
	r := &round{Maintenance: &Maintenance{ob: m.ob, cfg: m.cfg, sql: m.sql, log: m.log}}
	r.cfg.MaxBytes, r.sql.begun = 0, "SELECT $1::bigint IS NOT NULL AND EXISTS (SELECT FROM {range})"
	r.cfg.Retention = 0
	facts, err := m.ob.window.Facts(ctx, m.ob.pool)
	if err != nil {
		return nil, err
	}
	r.sequence = facts.Sequence
	err = m.ob.pool.QueryRow(ctx, "SELECT coalesce(pg_sequence_last_value($1::oid::regclass), 0)", r.sequence).Scan(&r.last)
	if err == nil {
		err = r.closeRange(ctx)
	}
	if isBusy(err) {
		err = nil
	}
	return r.report.Closed, err
}

// Promote exports promote.
func Promote(ctx context.Context, ob *Outbox) (moved int64, stayed bool, err error) {
	return ob.promote(ctx)
}

// PromoteDue exports promoteDue.
func PromoteDue(ctx context.Context, m *Maintenance) (time.Duration, error) {
	return m.promoteDue(ctx)
}

// AwaitDelays does what Maintenance.Run does for as long as it moves delayed messages.
func AwaitDelays(ob *Outbox) (done func()) { return ob.delays.await() }

// MaintenanceStatement returns a statement of maintenance for one range.
func MaintenanceStatement(ob *Outbox, name, table string) (string, error) {
	s, err := loadMaintenance(ob.cfg)
	sql := map[string]string{"pins": s.pins, "lags": s.lags, "chunk": s.chunkDrop}[name]
	return ob.of(table, sql), err
}
