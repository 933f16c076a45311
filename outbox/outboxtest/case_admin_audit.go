package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

func changesAreAudited(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	began, err := s.op.Audit(ctx, admin.AuditQuery{})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	sel := func(key string) admin.Selection { return admin.Selection{Topic: testTopic, Key: key} }
	_, err = s.op.Redrive(ctx, admin.RedriveRequest{By: by(), Selection: sel("l")})
	if err == nil {
		_, err = s.op.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Key: testKey("k")})
	}
	if err == nil {
		_, err = s.op.Drop(ctx, admin.DropRequest{By: by(), Selection: admin.Selection{Dead: true, Kind: "permanent"}})
	}
	if err != nil {
		return err
	}
	all, err := s.wholeAudit(ctx)
	if err != nil {
		return err
	}
	if len(all) != len(began)+3 {
		return fmt.Errorf("audit: %d entries, want 3 more than %d: %+v", len(all), len(began), all)
	}
	for i, want := range []string{"redrive l", "skip_head k", "drop o"} {
		e := all[len(began)+i]
		if got := e.Action + " " + e.Key; got != want || e.Actor != by().Actor || e.Reason != by().Reason || e.Group != testGroup ||
			e.Topic != testTopic || e.Seq == 0 || e.ID == "" || e.At.IsZero() {
			return fmt.Errorf("audit: %+v, want %s", e, want)
		}
	}
	if err := s.auditNewestFirst(ctx, all); err != nil {
		return err
	}
	return s.auditIsSelected(ctx, all[len(began)+1].ID)
}

// wholeAudit pages through the audit, which must ascend.
func (s *setAside) wholeAudit(ctx context.Context) (all []admin.AuditEntry, err error) {
	for q := (admin.AuditQuery{Limit: 2}); ; {
		page, err := s.op.Audit(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		for _, e := range page {
			if e.No <= q.After {
				return nil, fmt.Errorf("audit: %d stands behind %d", e.No, q.After)
			}
			q.After = e.No
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all, nil
		}
	}
}

// auditNewestFirst expects all in reverse, in two pages.
func (s *setAside) auditNewestFirst(ctx context.Context, all []admin.AuditEntry) error {
	newest, err := s.op.Audit(ctx, admin.AuditQuery{Newest: true, Limit: 2})
	if err == nil && len(newest) == 2 {
		var rest []admin.AuditEntry
		rest, err = s.op.Audit(ctx, admin.AuditQuery{Newest: true, After: newest[1].No})
		newest = append(newest, rest...)
	}
	slices.Reverse(newest)
	if err != nil || !slices.EqualFunc(newest, all, func(a, b admin.AuditEntry) bool { return a.No == b.No }) {
		return fmt.Errorf("audit, the newest first: %d entries, want %d in reverse: %w", len(newest), len(all), errors.Join(err, errWrongAnswer))
	}
	return nil
}

// auditIsSelected expects to find the only entry about a skip, which is of record id.
func (s *setAside) auditIsSelected(ctx context.Context, id string) error {
	for _, q := range []admin.AuditQuery{
		{Action: "skip_head"}, {Key: "k", Group: testGroup, Topic: testTopic, Action: "skip_head"}, {ID: id, Action: "skip_head"},
	} {
		some, err := s.op.Audit(ctx, q)
		if err != nil || len(some) != 1 || some[0].Action != "skip_head" {
			return fmt.Errorf("audit %+v: %+v: %w", q, some, errors.Join(err, errWrongAnswer))
		}
	}
	none, err := s.op.Audit(ctx, admin.AuditQuery{Since: time.Now().Add(time.Hour)})
	if err != nil || len(none) > 0 {
		return fmt.Errorf("audit since an hour from now: %d entries: %w", len(none), errors.Join(err, errWrongAnswer))
	}
	return nil
}
