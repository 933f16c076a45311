package pgoutbox_test

import (
	"context"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

var _ outboxtest.Admin = subject{}

// Parked implements outboxtest.Admin.
func (s subject) Parked(ctx context.Context, group string) ([]outboxtest.Aside, error) {
	parked, err := s.Outbox.Parked(ctx, admin.HeldQuery{Group: group, Limit: 10_000})
	var all []outboxtest.Aside
	for i := range parked {
		p := &parked[i]
		all = append(all, aside(p.Record, p.Waits, p.Attempts, p.Errors, p.Reason))
	}
	return all, err
}

// Dead implements outboxtest.Admin.
func (s subject) Dead(ctx context.Context, group string) ([]outboxtest.Aside, error) {
	dead, err := s.Outbox.Dead(ctx, admin.HeldQuery{Group: group, Limit: 10_000})
	var all []outboxtest.Aside
	for i := range dead {
		d := &dead[i]
		all = append(all, aside(d.Record, false, len(d.Errors), d.Errors, d.Reason))
	}
	return all, err
}

func aside(r outbox.Record, waits bool, attempts int, errs []admin.Failure, reason string) outboxtest.Aside {
	a := outboxtest.Aside{Record: r, Waits: waits, Attempts: attempts, Reason: reason}
	for _, e := range errs {
		a.Errors = append(a.Errors, e.Error)
	}
	return a
}

// Skipped implements outboxtest.Admin.
func (s subject) Skipped(ctx context.Context, group string) ([]string, error) {
	entries, err := s.Audit(ctx, admin.AuditQuery{Group: group, Action: "skip", Limit: 10_000})
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids, err
}

// Redrive implements outboxtest.Admin.
func (s subject) Redrive(ctx context.Context, group string, key driver.Key) error {
	_, err := s.Outbox.Redrive(ctx, admin.RedriveRequest{
		By: people(), Group: group, Selection: admin.Selection{Topic: key.Topic, Key: key.Key},
	})
	return err
}

// RedriveID implements outboxtest.Admin.
func (s subject) RedriveID(ctx context.Context, group, id string) error {
	_, err := s.Outbox.Redrive(ctx, admin.RedriveRequest{By: people(), Group: group, Selection: admin.Selection{ID: id}})
	return err
}

// SkipHead implements outboxtest.Admin.
func (s subject) SkipHead(ctx context.Context, group string, key driver.Key) error {
	_, err := s.Outbox.SkipHead(ctx, admin.SkipHeadRequest{By: people(), Group: group, Key: key})
	return err
}

// Drop implements outboxtest.Admin.
func (s subject) Drop(ctx context.Context, group string, key driver.Key) error {
	_, err := s.Outbox.Drop(ctx, admin.DropRequest{
		By: people(), Group: group, Selection: admin.Selection{Topic: key.Topic, Key: key.Key},
	})
	return err
}
