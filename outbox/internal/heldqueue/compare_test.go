package heldqueue_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// operators are the calls of admin.Outbox that are about held and dead records.
type operators interface {
	Held(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error)
	Dead(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error)
	ParkedKeys(ctx context.Context, q admin.KeysQuery) ([]admin.ParkedKey, error)
	Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error)
	Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error)
	Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error)
	SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error)
}

var _ operators = (*memory)(nil)

// difference is where the two queues differ, or one of them breaks the invariant.
type difference struct{ text string }

func (d *difference) Error() string { return d.text }

// same compares what both sides say.
func same(what string, postgres, memory any) error {
	if p, m := fmt.Sprintf("%+v", postgres), fmt.Sprintf("%+v", memory); p != m {
		return &difference{fmt.Sprintf("%s:\nin PostgreSQL %s\nin memory     %s", what, p, m)}
	}
	return nil
}

// kindOf tells errors apart as callers do.
func kindOf(err error) string {
	for _, kind := range []error{admin.ErrInvalidRequest, admin.ErrNotParked} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return fmt.Sprint(err)
}

func sortedKeys(keys []driver.Key) []driver.Key {
	return slices.SortedFunc(slices.Values(keys), func(a, b driver.Key) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Key, b.Key))
	})
}

// shownDue is an answer of Due as text.
func shownDue(due []driver.Held) (all []string) {
	for i := range due {
		all = append(all, fmt.Sprintf("%d %s %d", due[i].Seq, due[i].Payload, due[i].Attempts))
	}
	return all
}

// shownHeld are listed records as text. When they were set aside is by two clocks.
func shownHeld(held []admin.HeldRecord) (all []string) {
	for i := range held {
		h := &held[i]
		all = append(all, fmt.Sprintf("%d %s %s %s %s %s %s %t %d %q %+v",
			h.Seq, h.ID, h.Topic, h.Key, h.Payload, h.Group, h.State, h.Waits, h.Attempts, h.Reason, h.Errors))
	}
	return all
}

// shownAudit are entries as text, in the order of their records: those of one step have no
// order of their own.
func shownAudit(entries []admin.AuditEntry) (all []string) {
	slices.SortStableFunc(entries, func(a, b admin.AuditEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, e := range entries {
		var details any
		_ = json.Unmarshal(e.Details, &details) // nothing, if it is not JSON
		all = append(all, fmt.Sprintf("%s by %s, %q, of %s: %d %s %s %s %v",
			e.Action, e.Actor, e.Reason, e.Group, e.Seq, e.ID, e.Topic, e.Key, details))
	}
	return all
}

// look compares everything that is stored on both sides, and tests the invariant on it.
func (w *twins) look(ctx context.Context) error {
	rows, err := w.postgres.rows(ctx)
	if err != nil {
		return err
	}
	if err := same("rows", rows, w.memory.shown()); err != nil {
		return err
	}
	if err := heldqueue.Check(w.memory.rows.Rows()); err != nil {
		return &difference{err.Error()}
	}
	return errors.Join(w.lookAsRelay(ctx), w.lookAsOperator(ctx), w.lookAtAudit(ctx))
}

// lookAsRelay compares what a session sees.
func (w *twins) lookAsRelay(ctx context.Context) error {
	theirs, err := w.postgres.session.HeldKeys(ctx)
	if err != nil {
		return err
	}
	ours, err := w.memory.keys(ctx)
	if err := errors.Join(err, same("held keys", sortedKeys(theirs), sortedKeys(ours))); err != nil {
		return err
	}
	n, err := w.postgres.session.CountHeld(ctx)
	if err != nil {
		return err
	}
	m, err := w.memory.count(ctx)
	if err := errors.Join(err, same("number of held records", n, m)); err != nil {
		return err
	}
	return w.due(ctx, 1000, nil)
}

// lookAsOperator compares what operators list, some pages of it.
func (w *twins) lookAsOperator(ctx context.Context) error {
	for _, q := range []admin.HeldQuery{
		{Limit: 1000},
		{State: admin.HeldParked, Limit: 1000, OmitPayload: true},
		{State: admin.HeldRetrying, Limit: 3},
		{Topic: "orders*", Limit: 2},
		{Key: "a", After: w.middle()},
	} {
		for what, list := range map[string][2]func(context.Context, admin.HeldQuery) ([]admin.HeldRecord, error){
			"held": {w.postgres.Admin().Held, w.memory.Held},
			"dead": {w.postgres.Admin().Dead, w.memory.Dead},
		} {
			theirs, err := list[0](ctx, q)
			if err != nil {
				return err
			}
			ours, err := list[1](ctx, q)
			if err := errors.Join(err, same(what, shownHeld(theirs), shownHeld(ours))); err != nil {
				return err
			}
		}
	}
	return errors.Join(w.lookAtKeys(ctx), w.lookAtFailures(ctx, false), w.lookAtFailures(ctx, true))
}

// lookAtKeys compares the parked keys, except when they were set aside.
func (w *twins) lookAtKeys(ctx context.Context) error {
	for _, q := range []admin.KeysQuery{{Limit: 1000}, {Topic: "o*", After: w.middle(), Limit: 1}} {
		theirs, err := w.postgres.Admin().ParkedKeys(ctx, q)
		if err != nil {
			return err
		}
		ours, err := w.memory.ParkedKeys(ctx, q)
		for _, keys := range [][]admin.ParkedKey{theirs, ours} {
			for i := range keys {
				keys[i].Since = time.Time{}
			}
		}
		if err := errors.Join(err, same("parked keys", theirs, ours)); err != nil {
			return err
		}
	}
	return nil
}

// lookAtFailures compares what failures have in common, except when they were.
func (w *twins) lookAtFailures(ctx context.Context, dead bool) error {
	q := admin.FailuresQuery{Dead: dead}
	theirs, err := w.postgres.Admin().Failures(ctx, q)
	if err != nil {
		return err
	}
	ours, err := w.memory.Failures(ctx, q)
	for _, groups := range [][]admin.FailureGroup{theirs, ours} {
		for i := range groups {
			groups[i].First, groups[i].Last = time.Time{}, time.Time{}
		}
	}
	return errors.Join(err, same("failures", theirs, ours))
}

// middle is the number of a row in the middle.
func (w *twins) middle() int64 {
	rows := w.memory.rows.Rows()
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)/2].Seq
}

// lookAtAudit compares the entries that were added.
func (w *twins) lookAtAudit(ctx context.Context) error {
	theirs, err := w.postgres.Admin().Audit(ctx, admin.AuditQuery{After: w.audited[0], Limit: 1000})
	if err != nil {
		return err
	}
	ours, err := w.memory.Audit(ctx, admin.AuditQuery{After: w.audited[1], Limit: 1000})
	if err != nil {
		return err
	}
	if n := len(theirs); n > 0 {
		w.audited[0] = theirs[n-1].No
	}
	if n := len(ours); n > 0 {
		w.audited[1] = ours[n-1].No
	}
	return same("audit", shownAudit(theirs), shownAudit(ours))
}
