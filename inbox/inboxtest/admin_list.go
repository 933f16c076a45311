package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
)

// adminListChecks are about lists of parked messages and of the audit.
func adminListChecks() []Check {
	return []Check{
		{Name: "Admin_ParkedMessagesAreListed", run: operating(checkParkedListed)},
		{Name: "Admin_FailuresAreGrouped", run: operating(checkFailuresGrouped)},
		{Name: "Admin_AuditIsListed", run: operating(checkAudit)},
		{Name: "Admin_RequestsAreChecked", run: operating(checkRequests)},
	}
}

func checkParkedListed(ctx context.Context, c operated) error {
	all, err := c.in.Parked(ctx, admin.ParkedQuery{})
	if err != nil || len(all) != 6 {
		return fmt.Errorf("%d messages, want 6: %w", len(all), orNone(err))
	}
	if p := all[0]; p.Consumer != consumer || p.Key != "a" || p.Reason != "customer 0 is unknown" || p.History.Attempts != 1 ||
		string(p.Message.Payload) != "payload of a1" || p.PayloadBytes != len("payload of a1") || p.ParkedAt.IsZero() {
		err = fmt.Errorf("the first message is %+v", p)
	}
	if p := all[2]; p.Reason != "" || p.State != admin.StateWait {
		err = errors.Join(err, fmt.Errorf("one that waits is %+v", p))
	}
	for _, tt := range []struct {
		q    admin.ParkedQuery
		want []string
	}{
		{admin.ParkedQuery{Limit: 2}, []string{"a1", "b1"}},
		{admin.ParkedQuery{Limit: 2, After: all[1].No}, []string{"a2", "n"}},
		{admin.ParkedQuery{Consumer: consumer, Key: "b"}, []string{"b1", "b2"}},
		{admin.ParkedQuery{ID: "n"}, []string{"n"}},
		{admin.ParkedQuery{State: admin.StateWait}, []string{"a2", "a3", "b2"}},
		{admin.ParkedQuery{State: admin.StateParked, OmitPayload: true}, []string{"a1", "b1", "n"}},
		{admin.ParkedQuery{Topic: "elsewhere"}, nil},
		{admin.ParkedQuery{Before: time.Now().Add(-24 * time.Hour)}, nil},
	} {
		found, findErr := c.in.Parked(ctx, tt.q)
		ids := make([]string, len(found))
		for i, p := range found {
			ids[i] = p.ID
			if tt.q.OmitPayload != (len(p.Message.Payload) == 0) || p.PayloadBytes == 0 || p.Message.UUID != p.ID {
				err = errors.Join(err, fmt.Errorf("%+v has the message %+v", tt.q, p.Message))
			}
		}
		if !slices.Equal(ids, tt.want) {
			err = errors.Join(err, findErr, fmt.Errorf("%+v selects %q, want %q", tt.q, ids, tt.want))
		}
	}
	return err
}

func checkFailuresGrouped(ctx context.Context, c operated) error {
	err := wantDelivered(ctx, c, delivery(ctx, "o", ""), inbox.OutcomeParked, nil, func(context.Context) error {
		return inbox.Permanent(errors.New("6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90 is closed since 2026"))
	})
	groups, listErr := c.in.Failures(ctx, admin.FailuresQuery{Consumer: consumer})
	if err = errors.Join(err, listErr); err != nil {
		return err
	}
	want := []admin.FailureGroup{
		{Consumer: consumer, Fingerprint: "customer # is unknown", Count: 3},
		{Consumer: consumer, Fingerprint: "# is closed since #", Count: 1},
	}
	if len(groups) != len(want) {
		return fmt.Errorf("%d groups, want %d: %+v", len(groups), len(want), groups)
	}
	for i, g := range groups {
		if admin.Fingerprint(g.Example) != g.Fingerprint || g.First.IsZero() || g.Last.Before(g.First) {
			err = errors.Join(err, fmt.Errorf("a group is %+v", g))
		}
		g.Example, g.First, g.Last = "", time.Time{}, time.Time{}
		if g != want[i] {
			err = errors.Join(err, fmt.Errorf("group %+v, want %+v", g, want[i]))
		}
	}
	one, err1 := c.in.Failures(ctx, admin.FailuresQuery{Limit: 1})
	none, err2 := c.in.Failures(ctx, admin.FailuresQuery{Topic: "elsewhere"})
	if len(one) != 1 || len(none) != 0 {
		err = errors.Join(err, fmt.Errorf("%d and %d groups, want one and none", len(one), len(none)))
	}
	return errors.Join(err, err1, err2, checkFingerprint(ctx, c, want[0].Fingerprint, want[1].Fingerprint))
}

// checkFingerprint selects by what Failures returns.
func checkFingerprint(ctx context.Context, c operated, three, one string) error {
	found, err := c.in.Parked(ctx, admin.ParkedQuery{Fingerprint: one})
	if len(found) != 1 || found[0].ID != "o" {
		err = errors.Join(err, fmt.Errorf("a fingerprint selects %d messages, want one", len(found)))
	}
	changed, changeErr := c.redrive(ctx, admin.Selection{Fingerprint: three})
	return errors.Join(err, wantIDs(changed, changeErr, "a1", "b1", "n"))
}

func checkAudit(ctx context.Context, c operated) error {
	auditor, ok := c.in.(admin.Auditor)
	if !ok {
		return nil
	}
	_, err1 := c.in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: consumer, Key: "b"})
	_, err2 := c.in.Redrive(ctx, admin.RedriveRequest{By: someone(), Consumer: consumer, Selection: admin.Selection{Key: "a"}})
	_, err3 := c.in.Drop(ctx, admin.DropRequest{By: someone(), Consumer: consumer, Selection: admin.Selection{ID: "n"}})
	entries, err4 := auditor.Audit(ctx, admin.AuditQuery{Newest: true})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	var err error
	want := []string{"drop n suite", "redrive a1 suite", "skip_head b1 suite", "park n tester", "park b1 tester", "park a1 tester"}
	if got := lines(entries); !slices.Equal(got, want) {
		return fmt.Errorf("the audit is %q, want %q", got, want)
	}
	if e := entries[0]; e.Reason != someone().Reason || e.Consumer != consumer || e.ParkedNo == 0 || e.At.IsZero() || len(e.Details) == 0 {
		err = fmt.Errorf("the newest entry is %+v", e)
	}
	for _, tt := range []struct {
		q    admin.AuditQuery
		want []string
	}{
		{admin.AuditQuery{Newest: true, Limit: 2, After: entries[1].No}, want[2:4]},
		{admin.AuditQuery{Limit: 2, After: entries[4].No}, []string{want[3], want[2]}},
		{admin.AuditQuery{Limit: 1}, want[5:]},
		{admin.AuditQuery{Consumer: consumer, Action: admin.ActionPark, ID: "b1"}, want[4:5]},
		{admin.AuditQuery{Since: time.Now().Add(time.Hour)}, nil},
	} {
		found, findErr := auditor.Audit(ctx, tt.q)
		if got := lines(found); !slices.Equal(got, tt.want) {
			err = errors.Join(err, findErr, fmt.Errorf("%+v selects %q, want %q", tt.q, got, tt.want))
		}
	}
	return err
}

// lines are what was done, to which message, and by whom.
func lines(entries []admin.AuditEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Action+" "+e.ID+" "+e.Actor)
	}
	return all
}

// checkRequests asks for what makes no sense, and for what is not there.
func checkRequests(ctx context.Context, c operated) error {
	before, err := c.state(ctx)
	if err != nil {
		return err
	}
	request := admin.RedriveRequest{By: someone(), Consumer: consumer, Selection: admin.Selection{Key: "a"}}
	for what, change := range map[string]func(r *admin.RedriveRequest){
		"no actor":         func(r *admin.RedriveRequest) { r.Actor = " " },
		"no reason":        func(r *admin.RedriveRequest) { r.Reason = "" },
		"no consumer":      func(r *admin.RedriveRequest) { r.Consumer = "" },
		"nothing selected": func(r *admin.RedriveRequest) { r.Key = "" },
		"two selections":   func(r *admin.RedriveRequest) { r.ID = "n" },
		"a topic alone":    func(r *admin.RedriveRequest) { r.Key, r.ID, r.Topic = "", "n", "t" },
		"no text":          func(r *admin.RedriveRequest) { r.Topic = "\xff" },
		"the limit":        func(r *admin.RedriveRequest) { r.Limit = admin.MaxLimit + 1 },
	} {
		r := request
		change(&r)
		_, redriveErr := c.in.Redrive(ctx, r)
		_, dropErr := c.in.Drop(ctx, admin.DropRequest(r))
		err = errors.Join(err, wantError("redrive with "+what, redriveErr, admin.ErrInvalidRequest),
			wantError("drop with "+what, dropErr, admin.ErrInvalidRequest))
	}
	_, noKey := c.in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: consumer})
	_, negative := c.in.Parked(ctx, admin.ParkedQuery{Limit: -1})
	_, foreign := c.in.Parked(ctx, admin.ParkedQuery{Key: "a"})
	_, nobody := c.in.Attempts(ctx, admin.AttemptsQuery{})
	_, nothing := c.in.Lookup(ctx, admin.LookupQuery{})
	for what, got := range map[string]error{
		"skip without a key": noKey, "a negative limit": negative, "a key without a consumer": foreign,
		"attempts without a consumer": nobody, "a lookup without an id": nothing,
	} {
		err = errors.Join(err, wantError(what, got, admin.ErrInvalidRequest))
	}
	after, stateErr := c.state(ctx)
	if before != after {
		err = errors.Join(err, fmt.Errorf("what was refused has changed\n%s\nto\n%s", before, after))
	}
	return errors.Join(err, stateErr)
}
