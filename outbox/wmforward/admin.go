package wmforward

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox/admin"
)

// Redrive implements admin.Outbox for the group of the Source; requests for other groups are
// refused (admin.ErrInvalidRequest). The id of a malformed row is the row's uuid.
func (s *Source) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	if err := s.ownGroup(&req.Group); err != nil {
		return admin.Changed{}, err
	}
	changed, err := s.held.Redrive(ctx, s.pool, req)
	return changed, describe(err)
}

// Drop implements admin.Outbox. The forwarder's table keeps the rows.
func (s *Source) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	if err := s.ownGroup(&req.Group); err != nil {
		return admin.Changed{}, err
	}
	changed, err := s.held.Drop(ctx, s.pool, req)
	return changed, describe(err)
}

// SkipHead implements admin.Outbox.
func (s *Source) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	if err := s.ownGroup(&req.Group); err != nil {
		return admin.Changed{}, err
	}
	changed, err := s.held.SkipHead(ctx, s.pool, req)
	return changed, describe(err)
}

// Held implements admin.Outbox.
func (s *Source) Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	if err := s.ownGroup(&q.Group); err != nil {
		return nil, err
	}
	found, err := s.held.Held(ctx, s.pool, q)
	return found, describe(err)
}

// Dead implements admin.Outbox.
func (s *Source) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	if err := s.ownGroup(&q.Group); err != nil {
		return nil, err
	}
	found, err := s.held.Dead(ctx, s.pool, q)
	return found, describe(err)
}

// ParkedKeys implements admin.Outbox.
func (s *Source) ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error) {
	if err := s.ownGroup(&q.Group); err != nil {
		return nil, err
	}
	found, err := s.held.ParkedKeys(ctx, s.pool, q)
	return found, describe(err)
}

// Failures implements admin.Outbox.
func (s *Source) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	if err := s.ownGroup(&q.Group); err != nil {
		return nil, err
	}
	found, err := s.held.Failures(ctx, s.pool, q)
	return found, describe(err)
}

// Audit implements admin.Outbox.
func (s *Source) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	if err := s.ownGroup(&q.Group); err != nil {
		return nil, err
	}
	found, err := s.held.Audit(ctx, s.pool, q)
	return found, describe(err)
}

// ownGroup sets group to the Source's, and refuses another.
func (s *Source) ownGroup(group *string) error {
	if *group != "" && *group != s.slot.Group {
		return fmt.Errorf("%w: Group = %.200q: this is a source of group %q", admin.ErrInvalidRequest, *group, s.slot.Group)
	}
	*group = s.slot.Group
	return nil
}
