package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/ids"
)

// Forgetter is a Subject that forgets on request. Without it, Features.NoForget is set.
type Forgetter interface {
	Subject

	// Forget forgets the ids of version 7 that are older than age, except those in delivery.
	Forget(ctx context.Context, age time.Duration) error
}

// forgetChecks are about I7: a message that may have been forgotten never runs.
func forgetChecks() []Check {
	return unless(noForget, []Check{
		{Name: "I7_ForgottenNeverRuns", run: forgetting(checkForgottenNeverRuns)},
		{Name: "I7_OpenDeliveryIsNotForgotten", run: forgetting(checkOpenNotForgotten), skip: oneWriter},
		{Name: "I7_ForgettingMeetsDeliveries", run: forgetting(checkForgettingStorm)},
		{Name: "I7_LoweredFloor", run: forgetting(checkLoweredFloor), skip: noFailures},
	}...)
}

func forgetting(run func(ctx context.Context, s Forgetter, p inbox.Runner)) func(ctx context.Context, s Subject) {
	return func(ctx context.Context, s Subject) {
		f, ok := s.(Forgetter)
		if !ok {
			fail.With("%w: Forgetter", ErrLacks)
		}
		run(ctx, f, open(s))
	}
}

const (
	// kept is the age up to which the checks let a Forgetter keep ids.
	kept = 2 * time.Hour
	// recent and ancient are younger and older than that.
	recent, ancient = kept - time.Hour, kept + time.Hour
)

// madeAgo returns an id of version 7 that was made some time ago.
func madeAgo(age time.Duration) (string, error) {
	fresh, err := ids.New()
	id, _ := ids.Map(fresh)
	made := ids.FromMillis(time.Now().Add(-age).UnixMilli())
	copy(id[:6], made[:6])
	return ids.Text(id), err
}

// checkForgottenNeverRuns also accepts an id that is still remembered: its message is a
// duplicate.
func checkForgottenNeverRuns(ctx context.Context, s Forgetter, p inbox.Runner) {
	old, err1 := madeAgo(ancient)
	unseen, err2 := madeAgo(ancient)
	young, err3 := madeAgo(recent)
	fail.IfAny(err1, err2, err3)
	err := errors.Join(
		wantOutcome(ctx, p, old, inbox.OutcomeCommitted, nil, writing(s, "old")),
		wantOutcome(ctx, p, young, inbox.OutcomeCommitted, nil, writing(s, "young")),
		wantOutcome(ctx, p, "text", inbox.OutcomeCommitted, nil, writing(s, "text")),
		s.Forget(ctx, kept),
		wantOutcome(ctx, p, young, inbox.OutcomeDuplicate, nil, writing(s, "young again")),
		wantOutcome(ctx, p, "text", inbox.OutcomeDuplicate, nil, writing(s, "text again")),
		wantOutcome(ctx, p, unseen, inbox.OutcomeFailed, driver.ErrTooOld, writing(s, "unseen")),
		wantOutcome(ctx, p, old, inbox.OutcomeFailed, driver.ErrTooOld, writing(s, "old again")),
		wantRecorded(ctx, s, old, false),
		wantRecorded(ctx, s, young, true),
	)
	fail.IfAny(err, wantEffects(ctx, s, "old", "young", "text"))
}

// checkOpenNotForgotten forgets while a delivery of an old message is in progress: it is
// Busy until it has ended, and no run of it is lost or doubled.
func checkOpenNotForgotten(ctx context.Context, s Forgetter, p inbox.Runner) {
	old, err := madeAgo(ancient)
	fail.If(err)
	err = wantOutcome(ctx, p, old, inbox.OutcomeCommitted, nil, func(txCtx context.Context) error {
		return errors.Join(
			s.Forget(ctx, kept),
			wantOutcome(ctx, p, old, inbox.OutcomeBusy, inbox.ErrBusy, writing(s, "never")),
			s.Write(txCtx, "old"),
		)
	})
	fail.IfAny(err,
		s.Forget(ctx, kept),
		wantOutcome(ctx, p, old, inbox.OutcomeFailed, driver.ErrTooOld, writing(s, "again")),
		wantEffects(ctx, s, "old"),
	)
}

// checkForgettingStorm forgets messages while they are delivered over and over, and delivers
// each once more.
func checkForgettingStorm(ctx context.Context, s Forgetter, p inbox.Runner) {
	const messages, copies = 24, 6

	var group sync.WaitGroup
	errs := make([]error, messages+1)
	ids := make([]string, messages)
	for i := range messages {
		var err error
		ids[i], err = madeAgo(ancient)
		fail.If(err)
		group.Go(func() { errs[i] = untilAcked(ctx, p, ids[i], writing(s, ids[i])) })
	}
	group.Wait()
	// A copy is a duplicate, is too old, or fails because a store with one writer is occupied.
	again := func(id string) { _, _ = deliver(ctx, p, newMessage(ctx, id), writing(s, id)) }
	for _, id := range ids {
		group.Go(func() {
			for range copies {
				again(id)
			}
		})
	}
	group.Go(func() { errs[messages] = s.Forget(ctx, kept) })
	group.Wait()
	for _, id := range ids {
		again(id)
	}
	fail.IfAny(errors.Join(errs...), wantEffects(ctx, s, ids...))
}

// checkLoweredFloor lowers the floor below forgotten messages. That is refused until an operator
// has allowed messages to run again; then a redelivered message runs, once.
func checkLoweredFloor(ctx context.Context, s Forgetter, p inbox.Runner) {
	old, err1 := madeAgo(ancient)
	unseen, err2 := madeAgo(ancient)
	young, err3 := madeAgo(recent)
	in, err4 := adminOf(s)
	fail.IfAny(err1, err2, err3, err4)
	retainer, is := in.(admin.Retainer)
	if !is {
		fail.With("%w: admin.Retainer", ErrLacks)
	}
	by, to := admin.By{Actor: "operator", Reason: "the clock was wrong"}, time.Now().Add(-ancient-20*time.Minute)
	tooOld := func() {
		fail.IfAny(wantOutcome(ctx, p, unseen, inbox.OutcomeFailed, driver.ErrTooOld, writing(s, "too old")))
	}
	fail.IfAny(
		wantOutcome(ctx, p, old, inbox.OutcomeCommitted, nil, writing(s, "old")),
		wantOutcome(ctx, p, young, inbox.OutcomeCommitted, nil, writing(s, "young")),
		s.Forget(ctx, kept),
	)
	tooOld()
	before, err := retainer.Retention(ctx)
	fail.If(err)
	for what, r := range map[string]admin.LowerFloorRequest{
		"nobody asks": {To: to, MayRepeat: true}, "what was forgotten may run again, which nobody has said": {By: by, To: to},
		"it is above the floor": {By: by, To: before.Floor.Add(time.Minute), MayRepeat: true}, "the floor is below the clock": {By: by},
	} {
		if _, err := retainer.LowerFloor(ctx, r); !errors.Is(err, admin.ErrInvalidRequest) {
			fail.With("the floor is lowered although %s: error %w; want ErrInvalidRequest", what, err)
		}
	}
	for _, dry := range []bool{true, false} {
		tooOld()
		previous, err := retainer.LowerFloor(ctx, admin.LowerFloorRequest{By: by, To: to, MayRepeat: true, DryRun: dry})
		fail.If(err)
		if !previous.Equal(before.Floor) {
			fail.With("the floor was %s by LowerFloor, and %s by Retention", previous, before.Floor)
		}
	}
	after, err := retainer.Retention(ctx)
	fail.If(err)
	if want := to.Truncate(time.Millisecond); !after.Floor.Equal(want) {
		fail.With("the floor is %s; want %s", after.Floor, want)
	}
	fail.IfAny(
		wantOutcome(ctx, p, young, inbox.OutcomeDuplicate, nil, writing(s, "young again")),
		wantOutcome(ctx, p, unseen, inbox.OutcomeCommitted, nil, writing(s, "unseen")),
		wantOutcome(ctx, p, unseen, inbox.OutcomeDuplicate, nil, writing(s, "unseen again")),
		wantOutcome(ctx, p, old, inbox.OutcomeCommitted, nil, writing(s, "old again, as was said")),
		wantOutcome(ctx, p, old, inbox.OutcomeDuplicate, nil, writing(s, "old once more")),
		wantLowered(ctx, in, by),
		s.Forget(ctx, kept),
	)
	tooOld()
	fail.If(wantEffects(ctx, s, "old", "young", "unseen", "old again, as was said"))
}

// wantLowered looks into the audit, if there is one.
func wantLowered(ctx context.Context, in admin.Inbox, by admin.By) error {
	auditor, is := in.(admin.Auditor)
	if !is {
		return nil
	}
	entries, err := auditor.Audit(ctx, admin.AuditQuery{Action: "lower_floor"})
	if err == nil && (len(entries) != 1 || entries[0].Actor != by.Actor || entries[0].Reason != by.Reason || entries[0].Consumer != "") {
		err = fmt.Errorf("the audit has %+v; want one entry about all consumers, by %s", entries, by.Actor)
	}
	return err
}
