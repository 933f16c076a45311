package wmforward_test

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

var _ outboxtest.Admin = &subject{}

func operator() admin.By {
	return admin.By{Actor: "ann", Reason: "the topic exists now"}
}

func aside(all []admin.HeldRecord, err error) ([]outboxtest.Aside, error) {
	var out []outboxtest.Aside
	for i := range all {
		a := outboxtest.Aside{Record: all[i].Record, Waits: all[i].Waits, Attempts: all[i].Attempts, Reason: all[i].Reason}
		for _, e := range all[i].Errors {
			a.Errors = append(a.Errors, e.Error)
		}
		out = append(out, a)
	}
	return out, err
}

// Parked implements outboxtest.Admin.
func (s *subject) Parked(ctx context.Context, group string) ([]outboxtest.Aside, error) {
	return aside(s.of(group).Parked(ctx, admin.HeldQuery{Limit: 10_000}))
}

// Dead implements outboxtest.Admin.
func (s *subject) Dead(ctx context.Context, group string) ([]outboxtest.Aside, error) {
	return aside(s.of(group).Dead(ctx, admin.HeldQuery{Limit: 10_000}))
}

// Skipped implements outboxtest.Admin.
func (s *subject) Skipped(ctx context.Context, group string) ([]string, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT id FROM watermill_forwarder_topic_leat_audit
		WHERE relay_group = $1 AND action = 'skip' ORDER BY no`, group)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Redrive implements outboxtest.Admin.
func (s *subject) Redrive(ctx context.Context, group string, key driver.Key) error {
	_, err := s.of(group).Redrive(ctx, admin.RedriveRequest{By: operator(), Selection: admin.Selection{Topic: key.Topic, Key: key.Key}})
	return err
}

// RedriveID implements outboxtest.Admin.
func (s *subject) RedriveID(ctx context.Context, group, id string) error {
	_, err := s.of(group).Redrive(ctx, admin.RedriveRequest{By: operator(), Selection: admin.Selection{ID: id}})
	return err
}

// SkipHead implements outboxtest.Admin.
func (s *subject) SkipHead(ctx context.Context, group string, key driver.Key) error {
	_, err := s.of(group).SkipHead(ctx, admin.SkipHeadRequest{By: operator(), Key: key})
	return err
}

// Drop implements outboxtest.Admin.
func (s *subject) Drop(ctx context.Context, group string, key driver.Key) error {
	_, err := s.of(group).Drop(ctx, admin.DropRequest{By: operator(), Selection: admin.Selection{Topic: key.Topic, Key: key.Key}})
	return err
}
