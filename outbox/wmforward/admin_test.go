package wmforward_test

import (
	"context"

	"github.com/leat-go/leat/outbox/admin"
)

var _ admin.Outbox = &subject{}

func operator() admin.By {
	return admin.By{Actor: "ann", Reason: "the topic exists now"}
}

// Redrive implements admin.Outbox.
func (s *subject) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return s.of(req.Group).Redrive(ctx, req)
}

// Drop implements admin.Outbox.
func (s *subject) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	return s.of(req.Group).Drop(ctx, req)
}

// SkipHead implements admin.Outbox.
func (s *subject) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	return s.of(req.Group).SkipHead(ctx, req)
}

// Held implements admin.Outbox.
func (s *subject) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return s.of(q.Group).Held(ctx, q)
}

// ParkedKeys implements admin.Outbox.
func (s *subject) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	return s.of(q.Group).ParkedKeys(ctx, q)
}

// Failures implements admin.Outbox.
func (s *subject) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	return s.of(q.Group).Failures(ctx, q)
}

// Stats implements admin.Outbox.
func (s *subject) Stats(ctx context.Context) (admin.Stats, error) {
	return s.of("").Stats(ctx)
}

// Groups implements admin.Outbox.
func (s *subject) Groups(ctx context.Context) ([]admin.Group, error) {
	return s.of("").Groups(ctx)
}

// Members implements admin.Outbox.
func (s *subject) Members(ctx context.Context, group string) ([]admin.Member, error) {
	return s.of("").Members(ctx, group)
}

// Dead implements admin.Outbox.
func (s *subject) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	return s.of(q.Group).Dead(ctx, q)
}

// Audit implements admin.Outbox.
func (s *subject) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	return s.of(q.Group).Audit(ctx, q)
}
