package wmforward

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox/admin"
)

// Redrive lets the relay of the Source's group try records again, from now on, with
// the same ids; the id of a malformed row is the row's uuid. A parked key is redriven as
// a whole, in order. Errors: admin.ErrInvalidRequest, also for another group than the
// Source's, admin.ErrNotParked, admin.ErrBeingRetried, or the database's; a filter that
// matches nothing is no error.
func (s *Source) Redrive(ctx context.Context, req admin.RedriveRequest) (admin.Changed, error) {
	if err := s.ownGroup(&req.Group); err != nil {
		return admin.Changed{}, err
	}
	changed, err := s.held.Redrive(ctx, s.pool, req)
	return changed, describe(err)
}

// Drop drops parked or dead records for good: they are never sent. The audit keeps
// their ids and errors, the forwarder's table keeps the rows. Errors as of Redrive.
func (s *Source) Drop(ctx context.Context, req admin.DropRequest) (admin.Changed, error) {
	if err := s.ownGroup(&req.Group); err != nil {
		return admin.Changed{}, err
	}
	changed, err := s.held.Drop(ctx, s.pool, req)
	return changed, describe(err)
}

// SkipHead drops the first record of a parked key; the others follow in order.
// Errors as of Redrive.
func (s *Source) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	if err := s.ownGroup(&req.Group); err != nil {
		return admin.Changed{}, err
	}
	changed, err := s.held.SkipHead(ctx, s.pool, req)
	return changed, describe(err)
}

// Parked returns the parked records of the Source's group and those that wait behind
// them, ascending in Seq.
func (s *Source) Parked(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	if err := s.ownGroup(&q.Group); err != nil {
		return nil, err
	}
	found, err := s.held.Parked(ctx, s.pool, q)
	return found, describe(err)
}

// Dead returns the dead records of the Source's group, ascending in Seq.
func (s *Source) Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	if err := s.ownGroup(&q.Group); err != nil {
		return nil, err
	}
	found, err := s.held.Dead(ctx, s.pool, q)
	return found, describe(err)
}

// Audit returns entries of the audit about the Source's group, the oldest first.
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
