package wmforward_test

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/outboxtest"
)

var _ outboxtest.Admin = &subject{}

func operator() admin.By {
	return admin.By{Actor: "ann", Reason: "the topic exists now"}
}

// Redrive implements outboxtest.Admin.
func (s *subject) Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error) {
	return s.of(req.Group).Redrive(ctx, req)
}

// Drop implements outboxtest.Admin.
func (s *subject) Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error) {
	return s.of(req.Group).Drop(ctx, req)
}

// SkipHead implements outboxtest.Admin.
func (s *subject) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return s.of(req.Group).SkipHead(ctx, req)
}

// Parked implements outboxtest.Admin.
func (s *subject) Parked(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return s.of(q.Group).Parked(ctx, q)
}

// Dead implements outboxtest.Admin.
func (s *subject) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return s.of(q.Group).Dead(ctx, q)
}

// Audit implements outboxtest.Admin.
func (s *subject) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	return s.of(q.Group).Audit(ctx, q)
}
