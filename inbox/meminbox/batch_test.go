package meminbox

import (
	"context"
	"testing"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
)

func TestI13_Batch(t *testing.T) {
	t.Parallel()
	inboxtest.RunBatch(t, inboxtest.Features{}, func(*testing.T) inboxtest.BatchSubject { return &subject{} })
}

func (s *subject) OpenBatch(consumer string, cfg inbox.Config, batch inbox.BatchConfig) (inboxtest.BatchProcessor, error) {
	p, err := s.Open(consumer, cfg)
	if err != nil {
		return nil, err
	}
	return inbox.NewBatch(p.(*inbox.Processor), batch)
}

// ClaimBatch implements driver.BatchStore.
func (s *breakingStore) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	u, statuses, err := s.claims.ClaimBatch(ctx, items)
	if u == nil {
		return nil, statuses, err
	}
	return &breakingUnit{Unit: u, subject: s.subject}, statuses, nil
}
