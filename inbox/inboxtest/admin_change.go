package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/fail"
)

// adminChangeChecks are about what operators change.
func adminChangeChecks() []Check {
	return []Check{
		{Name: "Admin_RedriveMakesKeysDue", run: operating(checkRedriveDue)},
		{Name: "Admin_DropAndSkipHead", run: operating(checkDrop)},
		{Name: "Admin_NothingParkedIsAnError", run: operating(checkNotParked)},
		{Name: "Admin_DryRunChangesNothing", run: operating(checkDryRun)},
	}
}

func (c operated) redrive(ctx context.Context, sel admin.Selection) (admin.Changed, error) {
	return c.in.Redrive(ctx, admin.ChangeRequest{By: someone(), Consumer: consumer, Selection: sel})
}

func (c operated) drop(ctx context.Context, sel admin.Selection) (admin.Changed, error) {
	return c.in.Drop(ctx, admin.ChangeRequest{By: someone(), Consumer: consumer, Selection: sel})
}

func (c operated) skipHead(ctx context.Context, key string) (admin.Changed, error) {
	return c.in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: consumer, Key: key})
}

func checkRedriveDue(ctx context.Context, c operated) {
	changed, err := c.redrive(ctx, admin.Selection{ID: "a2"})
	err = errors.Join(wantIDs(changed, err, "a1"), // a key is redriven as a whole
		c.wantStates(ctx, "a1 redrive", "b1 parked", "a2 wait", "n parked", "a3 wait", "b2 wait"))
	for _, sel := range []admin.Selection{{Key: "a"}, {ID: "a1"}, {ID: "a3"}} {
		_, again := c.redrive(ctx, sel)
		err = errors.Join(err, wantError("redrive of what is redriven", again, admin.ErrBeingRetried))
	}
	_, dropErr := c.drop(ctx, admin.Selection{Key: "a"})
	_, skipErr := c.skipHead(ctx, "a")
	err = errors.Join(err, wantError("drop of what is redriven", dropErr, admin.ErrBeingRetried),
		wantError("skip of what is redriven", skipErr, admin.ErrBeingRetried))

	changed, allErr := c.redrive(ctx, everything())
	err = errors.Join(err, wantIDs(changed, allErr, "b1", "n"),
		c.wantStates(ctx, "a1 redrive", "b1 redrive", "a2 wait", "n redrive", "a3 wait", "b2 wait"))
	changed, noneErr := c.redrive(ctx, everything())
	fail.IfAny(err, wantIDs(changed, noneErr))
}

func checkDrop(ctx context.Context, c operated) {
	changed, err1 := c.skipHead(ctx, "a")
	err1 = errors.Join(wantIDs(changed, err1, "a1"),
		c.wantStates(ctx, "b1 parked", "a2 redrive", "n parked", "a3 wait", "b2 wait")) // a2 is the first one now
	changed, err2 := c.drop(ctx, admin.Selection{Key: "b"})
	err2 = wantIDs(changed, err2, "b1", "b2")
	changed, err3 := c.drop(ctx, admin.Selection{ID: "a3"})
	err3 = wantIDs(changed, err3, "a3")
	changed, err4 := c.drop(ctx, everything())
	fail.IfAny(err1, err2, err3, wantIDs(changed, err4, "n"),
		c.wantStates(ctx, "a2 redrive"),
		wantOutcome(ctx, c, "a1", inbox.OutcomeDuplicate, nil, writing(c, "never")),
		wantEffects(ctx, c),
	)
}

func checkNotParked(ctx context.Context, c operated) {
	for _, sel := range []admin.Selection{{ID: "x"}, {Key: "x"}, {Topic: "elsewhere", Key: "a"}} {
		_, redriveErr := c.redrive(ctx, sel)
		_, dropErr := c.drop(ctx, sel)
		fail.IfAny(wantError("redrive of nothing", redriveErr, admin.ErrNotParked),
			wantError("drop of nothing", dropErr, admin.ErrNotParked))
	}
	_, skipErr := c.skipHead(ctx, "x")
	changed, filterErr := c.drop(ctx, admin.Selection{OfTopic: "elsewhere"})
	fail.IfAny(wantError("skip of nothing", skipErr, admin.ErrNotParked), wantIDs(changed, filterErr))
}

// checkDryRun makes dry runs, and checks that they changed nothing. Then it makes the same
// changes, to check that the answers were right.
func checkDryRun(ctx context.Context, c operated) {
	_, err := c.redrive(ctx, admin.Selection{Key: "b"})
	before, stateErr := c.state(ctx)
	parked, parkedErr := c.in.Parked(ctx, admin.ParkedQuery{})
	fail.IfAny(err, stateErr, parkedErr)
	drop := admin.ChangeRequest{By: someone(), Consumer: consumer, DryRun: true}
	var asked []string
	ask := func(changed admin.Changed, err error) {
		what := fmt.Sprint(changed.IDs)
		switch {
		case errors.Is(err, admin.ErrBeingRetried):
			what = "being retried"
		case errors.Is(err, admin.ErrNotParked):
			what = "not parked"
		case err != nil || changed.Count != len(changed.IDs):
			what = fmt.Sprint(changed.Count, err)
		default:
			if keys, oldest := tallied(parked, changed.IDs); keys != changed.Keys || !oldest.Equal(changed.Oldest) {
				what += fmt.Sprintf(" of %d keys since %s, which are %d since %s", changed.Keys, changed.Oldest, keys, oldest)
			}
		}
		asked = append(asked, what)
	}
	selections := []admin.Selection{{Key: "a"}, {ID: "a2"}, {ID: "a3"}, {Key: "b"}, {ID: "b2"}, {Key: "x"}, {ID: "n"}, everything()}
	for _, sel := range selections {
		drop.Selection = sel
		ask(c.in.Drop(ctx, drop))
		ask(c.in.Redrive(ctx, drop))
	}
	ask(c.in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: consumer, Key: "a", DryRun: true}))
	ask(c.in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: consumer, Key: "b", DryRun: true}))
	want := []string{
		"[a1 a2 a3]", "[a1]", // key a
		"[a2]", "[a1]",
		"[a3]", "[a1]",
		"being retried", "being retried", // key b
		"[b2]", "being retried",
		"not parked", "not parked", // key x
		"[n]", "[n]",
		"[a1 n]", "[a1 n]", // everything
		"[a1]", "being retried", // the heads of a and b
	}
	if !slices.Equal(asked, want) {
		err = fmt.Errorf("dry runs say\n%q, want\n%q", asked, want)
	}
	after, stateErr := c.state(ctx)
	if before != after {
		err = errors.Join(err, fmt.Errorf("a dry run has changed\n%s\nto\n%s", before, after))
	}
	changed, dropErr := c.drop(ctx, admin.Selection{Key: "a"})
	fail.IfAny(err, stateErr, wantIDs(changed, dropErr, "a1", "a2", "a3"))
}
