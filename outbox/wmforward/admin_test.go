package wmforward_test

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/wmforward"
)

var _ outboxtest.Admin = &subject{}

func people() wmforward.By {
	return wmforward.By{Actor: "ann", Reason: "the topic exists now"}
}

func aside(all []wmforward.Aside, err error) ([]outboxtest.Aside, error) {
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
	return aside(s.of(group).Parked(ctx, wmforward.Query{Limit: 10_000}))
}

// Dead implements outboxtest.Admin.
func (s *subject) Dead(ctx context.Context, group string) ([]outboxtest.Aside, error) {
	return aside(s.of(group).Dead(ctx, wmforward.Query{Limit: 10_000}))
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
	_, err := s.of(group).Redrive(ctx, wmforward.Selection{Topic: key.Topic, Key: key.Key}, people())
	return err
}

// RedriveID implements outboxtest.Admin.
func (s *subject) RedriveID(ctx context.Context, group, id string) error {
	_, err := s.of(group).Redrive(ctx, wmforward.Selection{ID: id}, people())
	return err
}

// SkipHead implements outboxtest.Admin.
func (s *subject) SkipHead(ctx context.Context, group string, key driver.Key) error {
	_, err := s.of(group).SkipHead(ctx, key, people())
	return err
}

// Drop implements outboxtest.Admin.
func (s *subject) Drop(ctx context.Context, group string, key driver.Key) error {
	_, err := s.of(group).Drop(ctx, wmforward.Selection{Topic: key.Topic, Key: key.Key}, people())
	return err
}
