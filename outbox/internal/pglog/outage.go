package pglog

import (
	"context"

	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.OutageKeeper = (*Session)(nil)

// KeepOutages implements driver.OutageKeeper.
func (s *Session) KeepOutages(ctx context.Context, all []driver.Outage) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.explain(s.cfg.Held.KeepOutages(ctx, s.writer, s.cfg.Lease, all))
}
