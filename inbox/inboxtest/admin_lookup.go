package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/fail"
)

// wantSeen looks a message up.
func wantSeen(ctx context.Context, in admin.Inbox, id string, want admin.SightingState) (admin.Sighting, error) {
	all, err := in.Lookup(ctx, admin.LookupQuery{ID: id, Consumer: consumer})
	if err != nil || len(all) != 1 {
		return admin.Sighting{}, fmt.Errorf("message %q was seen by %d consumers, want one: %w", id, len(all), orNone(err))
	}
	if all[0].Consumer != consumer || all[0].State != want {
		err = fmt.Errorf("message %q is %s for %s, want %s", id, all[0].State, all[0].Consumer, want)
	}
	return all[0], err
}

func checkLookup(ctx context.Context, c operated) {
	_, unseen := wantSeen(ctx, c.in, "x", admin.NotSeen)
	var byAll error
	err := errors.Join(unseen,
		wantOutcome(ctx, c, "fails", inbox.OutcomeFailed, errHandler, fails),
		wantOutcome(ctx, c, "x", inbox.OutcomeCommitted, nil, func(txCtx context.Context) error {
			_, lookErr := c.in.Lookup(ctx, admin.LookupQuery{ID: "x", Consumer: consumer}) // waits for nothing
			return errors.Join(lookErr, writing(c, "x")(txCtx))
		}),
	)
	failed, err1 := wantSeen(ctx, c.in, "fails", admin.Failing)
	_, err2 := wantSeen(ctx, c.in, "x", admin.Processed)
	first, err3 := wantSeen(ctx, c.in, "a1", admin.Parked)
	behind, err4 := wantSeen(ctx, c.in, "a2", admin.Parked)
	if failed.History.Attempts != 1 || len(failed.History.Errors) != 1 {
		err = errors.Join(err, fmt.Errorf("the history of a message that failed once is %+v", failed.History))
	}
	if first.History.Attempts != 1 || len(first.Parked) != 1 || len(behind.Parked) != 1 || first.Parked[0] >= behind.Parked[0] {
		err = errors.Join(err, fmt.Errorf("parked are %+v and %+v", first, behind))
	}
	other, openErr := c.Open("another", inbox.Config{})
	fail.If(openErr)
	err5 := wantOutcome(ctx, other, "y", inbox.OutcomeCommitted, nil, writing(c, "y"))
	all, err6 := c.in.Lookup(ctx, admin.LookupQuery{ID: "x"})
	if len(all) != 2 || all[0].Consumer != "another" || all[0].State != admin.NotSeen || all[1].State != admin.Processed {
		byAll = fmt.Errorf("all consumers say %+v", all)
	}
	fail.IfAny(err, err1, err2, err3, err4, err5, err6, byAll)
}

func checkLookupRunning(ctx context.Context, c operated) {
	fail.If(wantOutcome(ctx, c, "x", inbox.OutcomeCommitted, nil, func(txCtx context.Context) error {
		_, err := wantSeen(ctx, c.in, "x", admin.Running)
		return errors.Join(err, writing(c, "x")(txCtx))
	}))
}

func checkLookupNote(ctx context.Context, s FailureSubject) {
	p := openFor(s, parking(), fingerprints)
	in, err := s.Admin()
	fail.If(err)
	msg := message.NewMessageWithContext(ctx, "a", []byte("one"))
	err = wantDelivered(ctx, p, msg, inbox.OutcomeCommitted, nil, writing(s, "a"))
	seen, lookErr := wantSeen(ctx, in, "a", admin.Processed)
	if seen.Note == nil || len(seen.Note.Fingerprint) == 0 {
		err = errors.Join(err, errors.New("the note has no fingerprint"))
	}
	if time.Since(seen.ProcessedAt).Abs() > time.Hour {
		err = errors.Join(err, fmt.Errorf("processed at %s", seen.ProcessedAt))
	}
	fail.IfAny(err, lookErr)
}
