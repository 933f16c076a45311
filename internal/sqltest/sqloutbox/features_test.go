package sqloutbox_test

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

var (
	_ outboxtest.Grouper        = subject{}
	_ outboxtest.Admin          = subject{}
	_ outboxtest.Delayer        = subject{}
	_ outboxtest.Replayer       = subject{}
	_ outboxtest.HistoryDropper = subject{}
	_ outboxtest.Retainer       = subject{}
)

// Now implements outboxtest.Delayer.
func (s subject) Now(ctx context.Context) (time.Time, error) {
	clock := "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	if s.dialect == sqloutbox.SQLite {
		clock = "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
	}
	var now int64
	err := s.db.QueryRowContext(ctx, clock).Scan(&now)
	return time.UnixMicro(now), err
}

// Promote implements outboxtest.Delayer.
func (s subject) Promote(ctx context.Context) error { return s.maintain(ctx, -1) }

// Retain implements outboxtest.Retainer.
func (s subject) Retain(ctx context.Context) error { return s.maintain(ctx, time.Microsecond) }

func (s subject) maintain(ctx context.Context, maxAge time.Duration) error {
	m, err := sqloutbox.NewMaintenance(s.Outbox, sqloutbox.MaintenanceConfig{MaxAge: maxAge})
	if err == nil {
		_, err = m.RunOnce(ctx)
	}
	return err
}

// History implements outboxtest.Replayer.
func (s subject) History(sel outboxtest.Selection) (driver.History, error) {
	return s.Outbox.History(sqloutbox.HistoryConfig{FromSeq: sel.FromSeq, ToSeq: sel.ToSeq, Topics: sel.Topics})
}

// DropHistory implements outboxtest.HistoryDropper, as retention does.
func (s subject) DropHistory(ctx context.Context, seq int64) error {
	if _, err := s.db.ExecContext(ctx, "UPDATE leat_outbox_meta SET floor = ?", seq); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, "DELETE FROM leat_outbox WHERE seq > 0 AND seq <= ?", seq)
	return err
}
