package outboxtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// parkedAgainIsNew: a record that was redriven and has failed again counts as parked from then
// on, and its FailureGroup counts it in Again.
func parkedAgainIsNew(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	before := s.parkedSince(ctx)
	s.expectAgain(ctx, 0)
	fail.If(pause(ctx))
	_, err := s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{Topic: testTopic, Key: "l"}})
	fail.If(err, "redrive")
	due, err := s.Due(ctx, 10, nil)
	fail.If(err, "due")
	for i := range due {
		if string(due[i].Payload) != "c" {
			continue
		}
		_, err := s.Resolve(ctx, []driver.Verdict{{
			Record: &due[i].Record, Fate: driver.FatePark, Attempts: failedOf(outbox.FailureUnknown, timeoutOf8), Reason: "failed again",
		}})
		fail.If(err, "resolve")
	}
	if after := s.parkedSince(ctx); !after.After(before) {
		fail.With("parked again: since %s, want later than %s", after, before)
	}
	s.expectAgain(ctx, 1)
}

// expectAgain fails unless the FailureGroup of two records counts want of them in Again, and every other one 0.
func (s *setAside) expectAgain(ctx context.Context, want int) {
	all, err := s.op.Failures(ctx, admin.FailuresQuery{})
	fail.If(err, "failures")
	for _, f := range all {
		again := 0
		if f.Records == 2 {
			again = want
		}
		if f.Again != again {
			fail.With("failures: %+v, want %d that failed again", f, again)
		}
	}
}

// parkedSince returns when the record of key l was parked. It fails if the record and its key disagree.
func (s *setAside) parkedSince(ctx context.Context) time.Time {
	held, err := s.op.Held(ctx, admin.HeldQuery{Topic: testTopic, Key: "l", State: admin.HeldParked})
	if err != nil || len(held) != 1 {
		fail.With("held of key l: %+v, want 1: %w", held, errors.Join(err, errWrongAnswer))
	}
	keys, err := s.op.ParkedKeys(ctx, admin.KeysQuery{})
	fail.If(err, "parked keys")
	for _, k := range keys {
		if k.Key.Key == "l" && !k.Since.Equal(held[0].Since) {
			fail.With("key l is parked since %s, and its record since %s", k.Since, held[0].Since)
		}
	}
	return held[0].Since
}

// redriveIsStopped: a record that is being tried again is parked, with those that follow it,
// although a relay has it in flight. It is tried again when it is redriven.
func redriveIsStopped(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	ids := s.ids(ctx)
	stop := func(sel admin.Selection, dry bool) (admin.Changed, error) {
		return s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: sel, Stop: true, DryRun: dry})
	}
	for _, id := range []string{"f", "g"} {
		_, err := stop(admin.Selection{ID: ids[id]}, false)
		expectError("stop of what is not tried again: "+id, err, admin.ErrNotParked)
	}
	_, err := stop(admin.Selection{Dead: true, Topics: "*"}, false)
	expectError("stop of what is dead", err, admin.ErrInvalidRequest)
	_, err = s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{Topic: testTopic, Key: "l"}})
	fail.If(err, "redrive")
	due, err := s.Due(ctx, 10, nil)
	fail.If(err, "due")
	planned, err := stop(admin.Selection{Topics: "*"}, true)
	fail.If(err, "dry run of a stop")
	stopped, err := stop(admin.Selection{Topics: "*"}, false)
	fail.If(err, "stop")
	if want := []string{ids["c"], ids["d"]}; !slices.Equal(planned.IDs, want) || !slices.Equal(stopped.IDs, want) {
		fail.With("stop: %v, planned %v, want %v", stopped.IDs, planned.IDs, want)
	}
	for i := range due {
		if due[i].ID == ids["e"] {
			continue // a relay is waiting for an answer about it
		}
		_, err := s.Resolve(ctx, []driver.Verdict{{Record: &due[i].Record, Fate: driver.FateDelivered}})
		fail.If(err, "resolve")
	}
	due, err = s.Due(ctx, 10, nil)
	if err != nil || len(due) > 0 {
		fail.With("due after a stop: %+v, want none: %w", due, errors.Join(err, errWrongAnswer))
	}
	held, err := s.op.Held(ctx, admin.HeldQuery{State: admin.HeldParked})
	if err != nil || len(held) != 6 {
		fail.With("parked after a stop: %+v, want 6: %w", held, errors.Join(err, errWrongAnswer))
	}
	entries, err := s.op.Audit(ctx, admin.AuditQuery{ID: ids["d"], Action: "park"})
	if err != nil || len(entries) != 1 || entries[0].Actor != by().Actor || entries[0].Reason != by().Reason {
		fail.With("audit of a stop: %+v, want one entry with who asked: %w", entries, errors.Join(err, errWrongAnswer))
	}
	_, err = s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{ID: ids["e"]}})
	fail.If(err, "redrive of what follows")
	due, err = s.Due(ctx, 10, nil)
	if err != nil || len(due) == 0 || due[0].ID != ids["d"] {
		fail.With("due after another redrive: %+v, want %q first: %w", due, ids["d"], errors.Join(err, errWrongAnswer))
	}
}
