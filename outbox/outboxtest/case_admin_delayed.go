package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/admin"
)

func delayedIsCancelled(ctx context.Context, tr *trial) error {
	scheduler, ok := tr.Subject.(admin.Scheduler)
	if !ok {
		return nil
	}
	due := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	msgs := keyed("k", "c", "a", "b")
	for i, after := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		msgs[i].ID, msgs[i].NotBefore = "late "+string(msgs[i].Payload), due.Add(after)
	}
	if err := tr.commit(ctx, msgs...); err != nil {
		return err
	}
	first, err := scheduler.Delayed(ctx, admin.DelayedQuery{Limit: 1})
	if err != nil || len(first) != 1 || !first[0].NotBefore.Equal(due.Add(time.Hour)) || first[0].CreatedAt.IsZero() {
		return fmt.Errorf("delayed: %+v, want a: %w", first, errors.Join(err, errWrongAnswer))
	}
	err = errors.Join(
		expectDelayed(ctx, scheduler, admin.DelayedQuery{}, "a b c"),
		expectDelayed(ctx, scheduler, admin.DelayedQuery{After: &first[0]}, "b c"),
		expectDelayed(ctx, scheduler, admin.DelayedQuery{ID: "late b"}, "b"),
		expectDelayed(ctx, scheduler, admin.DelayedQuery{Topic: testTopic, Key: "k", Limit: 2}, "a b"),
		expectDelayed(ctx, scheduler, admin.DelayedQuery{Key: "l"}, ""),
		cancelIt(ctx, scheduler, "late b"),
		expectDelayed(ctx, scheduler, admin.DelayedQuery{}, "a c"))
	if err != nil {
		return err
	}
	if _, err := scheduler.CancelDelayed(ctx, admin.CancelRequest{By: by()}); !errors.Is(err, admin.ErrInvalidRequest) {
		return unexpected("cancel of no id", err, admin.ErrInvalidRequest)
	}
	return nil
}

func expectDelayed(ctx context.Context, scheduler admin.Scheduler, q admin.DelayedQuery, want string) error {
	all, err := scheduler.Delayed(ctx, q)
	found := make([]string, len(all))
	for i := range all {
		found[i] = string(all[i].Payload)
	}
	if got := strings.Join(found, " "); err != nil || got != want {
		return fmt.Errorf("delayed %+v: %s, want %s: %w", q, got, want, errors.Join(err, errWrongAnswer))
	}
	return nil
}

// cancelIt cancels a delayed message: not in a dry run, once, and then in vain.
func cancelIt(ctx context.Context, scheduler admin.Scheduler, id string) error {
	cancel := admin.CancelRequest{By: by(), ID: id, DryRun: true}
	for _, want := range []int{1, 1, 0} {
		changed, err := scheduler.CancelDelayed(ctx, cancel)
		if err != nil || changed.Count != want || len(changed.IDs) != want {
			return fmt.Errorf("cancel, dry run %t: %+v, want %d: %w", cancel.DryRun, changed, want, errors.Join(err, errWrongAnswer))
		}
		cancel.DryRun = false
	}
	entries, err := scheduler.Audit(ctx, admin.AuditQuery{ID: id})
	if err != nil || len(entries) != 1 || entries[0].Action != "cancel_delayed" || entries[0].Actor != by().Actor ||
		entries[0].Topic != testTopic || entries[0].Key != "k" {
		return fmt.Errorf("audit: %+v, want one entry about the cancel: %w", entries, errors.Join(err, errWrongAnswer))
	}
	return nil
}
