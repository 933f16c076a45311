package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/fail"
)

// adminLookChecks are about consumers, and their records of a message.
func adminLookChecks() []Check {
	return []Check{
		{Name: "Admin_LookingRegistersNobody", run: failing(checkNobodyRegistered)},
		{Name: "Admin_ConsumersAreCounted", run: operating(checkConsumersCounted)},
		{Name: "Admin_AttemptsAreListed", run: operating(checkAttemptsListed)},
		{Name: "Admin_LookupTellsWhereAMessageIs", run: operating(checkLookup)},
		{Name: "Admin_LookupSeesARunningMessage", run: operating(checkLookupRunning), skip: oneWriter},
		{Name: "Admin_LookupFindsTheNote", run: failing(checkLookupNote)},
	}
}

func checkNobodyRegistered(ctx context.Context, s FailureSubject) {
	in, err := s.Admin()
	fail.If(err)
	ask := map[string]func() error{
		"Parked":   func() error { _, err := in.Parked(ctx, admin.ParkedQuery{Consumer: "typo"}); return err },
		"Failures": func() error { _, err := in.Failures(ctx, admin.FailuresQuery{Consumer: "typo"}); return err },
		"Attempts": func() error { _, err := in.Attempts(ctx, admin.AttemptsQuery{Consumer: "typo"}); return err },
		"Lookup":   func() error { _, err := in.Lookup(ctx, admin.LookupQuery{Consumer: "typo", ID: "a"}); return err },
		"Redrive": func() error {
			_, err := in.Redrive(ctx, admin.ChangeRequest{By: someone(), Consumer: "typo", Selection: everything()})
			return err
		},
		"SkipHead": func() error {
			_, err := in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: "typo", Key: "k"})
			return err
		},
		"Drop": func() error {
			_, err := in.Drop(ctx, admin.ChangeRequest{By: someone(), Consumer: "typo", Selection: everything()})
			return err
		},
	}
	if auditor, ok := in.(admin.Auditor); ok {
		ask["Audit"] = func() error { _, err := auditor.Audit(ctx, admin.AuditQuery{Consumer: "typo"}); return err }
	}
	for name, look := range ask {
		err = errors.Join(err, wantError(name+" of a consumer that nobody knows", look(), admin.ErrUnknownConsumer))
	}
	all, listErr := in.Consumers(ctx, admin.ConsumersQuery{})
	stats, statsErr := in.Stats(ctx)
	if len(all) != 0 || stats.Consumers != 0 {
		err = errors.Join(err, fmt.Errorf("%d consumers are registered, and %d in figures; want none", len(all), stats.Consumers))
	}
	fail.IfAny(err, listErr, statsErr)
}

func checkConsumersCounted(ctx context.Context, c operated) {
	other, err := c.Open("another", inbox.Config{})
	fail.If(err)
	err = errors.Join(
		wantOutcome(ctx, other, "x", inbox.OutcomeCommitted, nil, writing(c, "x")),
		wantOutcome(ctx, c, "fails", inbox.OutcomeFailed, errHandler, fails),
		redrive(ctx, c, "b"),
	)
	all, listErr := c.in.Consumers(ctx, admin.ConsumersQuery{})
	stats, statsErr := c.in.Stats(ctx)
	fail.IfAny(err, listErr, statsErr)
	want := []admin.Consumer{
		{Name: "another", Remembered: 1},
		{Name: consumer, Remembered: 6, Parked: 2, Redriving: 1, Waiting: 3, Failing: 1},
	}
	if len(all) != len(want) {
		fail.With("%d consumers, want %d", len(all), len(want))
	}
	for i, got := range all {
		if recent := time.Since(got.Since).Abs() < time.Hour; !recent {
			err = errors.Join(err, fmt.Errorf("consumer %s is there since %s", got.Name, got.Since))
		}
		if recent := time.Since(got.LastActivity).Abs() < time.Hour; !recent && got.Name == consumer {
			err = errors.Join(err, fmt.Errorf("consumer %s was active at %s last", got.Name, got.LastActivity))
		}
		got.Since, got.LastActivity = time.Time{}, time.Time{}
		if got != want[i] {
			err = errors.Join(err, fmt.Errorf("consumer %+v, want %+v", got, want[i]))
		}
	}
	figures := admin.Stats{Consumers: 2, Parked: 2, Redriving: 1, Waiting: 3, Failing: 1}
	if time.Since(stats.At).Abs() > time.Hour || stats.OldestParked.IsZero() || stats.OldestParked.After(stats.At) {
		err = errors.Join(err, fmt.Errorf("at %s the oldest was parked at %s", stats.At, stats.OldestParked))
	}
	stats.At, stats.OldestParked, stats.Bytes = time.Time{}, time.Time{}, 0
	if stats != figures {
		err = errors.Join(err, fmt.Errorf("figures %+v, want %+v", stats, figures))
	}
	page, pageErr := c.in.Consumers(ctx, admin.ConsumersQuery{After: "another", Limit: 1})
	if len(page) != 1 || page[0].Name != consumer {
		err = errors.Join(err, fmt.Errorf("the next page has %d consumers, want %s", len(page), consumer))
	}
	fail.IfAny(err, pageErr)
}

func checkAttemptsListed(ctx context.Context, c operated) {
	err := errors.Join(
		wantOutcome(ctx, c, "fails", inbox.OutcomeFailed, errHandler, fails),
		wantOutcome(ctx, c, "fails", inbox.OutcomeFailed, errHandler, fails),
		wantOutcome(ctx, c, "fails too", inbox.OutcomeFailed, errHandler, fails),
		wantOutcome(ctx, c, "was fixed", inbox.OutcomeFailed, errHandler, fails),
		wantOutcome(ctx, c, "was fixed", inbox.OutcomeCommitted, nil, writing(c, "x")),
	)
	all, listErr := c.in.Attempts(ctx, admin.AttemptsQuery{Consumer: consumer})
	fail.IfAny(err, listErr)
	counts := map[int]int{}
	for _, a := range all {
		counts[a.Attempts]++
		if a.Consumer != consumer || len(a.Errors) != a.Attempts || a.First.IsZero() || a.Last.Before(a.First) {
			err = errors.Join(err, fmt.Errorf("attempts are %+v", a))
		}
	}
	if len(all) != 2 || counts[1] != 1 || counts[2] != 1 {
		fail.IfAny(err, fmt.Errorf("%d messages are being tried, %v by attempts; want one once and one twice", len(all), counts))
	}
	page, err1 := c.in.Attempts(ctx, admin.AttemptsQuery{Consumer: consumer, After: all[0].ID, Limit: 1})
	late, err2 := c.in.Attempts(ctx, admin.AttemptsQuery{Consumer: consumer, Since: time.Now().Add(time.Hour)})
	if len(page) != 1 || page[0].ID != all[1].ID || len(late) != 0 {
		err = errors.Join(err, fmt.Errorf("pages of %d and %d messages, want one and none", len(page), len(late)))
	}
	fail.IfAny(err, err1, err2)
}
