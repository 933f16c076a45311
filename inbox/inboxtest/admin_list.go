package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/fail"
	common "github.com/leat-go/leat/outbox/admin"
)

// adminListChecks are about lists of parked messages and of the audit.
func adminListChecks() []Check {
	return []Check{
		{Name: "Admin_ParkedMessagesAreListed", run: operating(checkParkedListed)},
		{Name: "Admin_FailuresAreGrouped", run: operating(checkFailuresGrouped)},
		{Name: "Admin_AuditIsListed", run: operating(checkAudit), skip: noAudit},
		{Name: "Admin_RequestsAreChecked", run: operating(checkRequests)},
	}
}

func checkParkedListed(ctx context.Context, c operated) {
	all, err := c.in.Parked(ctx, admin.ParkedQuery{})
	if err != nil || len(all) != 6 {
		fail.With("%d messages, want 6: %w", len(all), orNone(err))
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
	fail.If(err)
}

func checkFailuresGrouped(ctx context.Context, c operated) {
	err := wantDelivered(ctx, c, delivery(ctx, "o", ""), inbox.OutcomeParked, nil, func(context.Context) error {
		return inbox.Permanent(errors.New("6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90 is closed since 2026"))
	})
	groups, listErr := c.in.Failures(ctx, admin.FailuresQuery{Consumer: consumer})
	fail.IfAny(err, listErr)
	want := []admin.FailureGroup{
		{Consumer: consumer, Fingerprint: "customer # is unknown", Count: 3},
		{Consumer: consumer, Fingerprint: "# is closed since #", Count: 1},
	}
	if len(groups) != len(want) {
		fail.With("%d groups, want %d: %+v", len(groups), len(want), groups)
	}
	for i, g := range groups {
		if common.Fingerprint(g.Example) != g.Fingerprint || g.First.IsZero() || g.Last.Before(g.First) {
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
	fail.IfAny(err, err1, err2, checkFingerprint(ctx, c, want[0].Fingerprint, want[1].Fingerprint))
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
