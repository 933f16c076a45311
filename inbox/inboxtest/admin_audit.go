package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/fail"
)

func checkAudit(ctx context.Context, c operated) {
	auditor, ok := c.in.(admin.Auditor)
	if !ok {
		fail.With("%w: admin.Auditor", ErrLacks)
	}
	_, err1 := c.in.SkipHead(ctx, admin.SkipHeadRequest{By: someone(), Consumer: consumer, Key: "b"})
	_, err2 := c.in.Redrive(ctx, admin.ChangeRequest{By: someone(), Consumer: consumer, Selection: admin.Selection{Key: "a"}})
	_, err3 := c.in.Drop(ctx, admin.ChangeRequest{By: someone(), Consumer: consumer, Selection: admin.Selection{ID: "n"}})
	entries, err4 := auditor.Audit(ctx, admin.AuditQuery{Newest: true})
	fail.IfAny(err1, err2, err3, err4)
	var err error
	want := []string{"drop n suite", "redrive a1 suite", "skip_head b1 suite", "park n tester", "park b1 tester", "park a1 tester"}
	if got := lines(entries); !slices.Equal(got, want) {
		fail.With("the audit is %q, want %q", got, want)
	}
	if e := entries[0]; e.Reason != someone().Reason || e.Consumer != consumer || e.ParkedNo == 0 || e.At.IsZero() || len(e.Details) == 0 {
		err = fmt.Errorf("the newest entry is %+v", e)
	}
	for _, e := range entries[:3] {
		if !knows(e) {
			err = errors.Join(err, fmt.Errorf("%s: details %s, want %q of who asked", e.Action, e.Details, someone().Details))
		}
	}
	for _, tt := range []struct {
		q    admin.AuditQuery
		want []string
	}{
		{admin.AuditQuery{Newest: true, Limit: 2, After: entries[1].No}, want[2:4]},
		{admin.AuditQuery{Limit: 2, After: entries[4].No}, []string{want[3], want[2]}},
		{admin.AuditQuery{Limit: 1}, want[5:]},
		{admin.AuditQuery{Consumer: consumer, Action: "park", ID: "b1"}, want[4:5]},
		{admin.AuditQuery{Since: time.Now().Add(time.Hour)}, nil},
	} {
		found, findErr := auditor.Audit(ctx, tt.q)
		if got := lines(found); !slices.Equal(got, tt.want) {
			err = errors.Join(err, findErr, fmt.Errorf("%+v selects %q, want %q", tt.q, got, tt.want))
		}
	}
	fail.If(err)
}

// lines returns one line per entry: the action, the message and the actor.
func lines(entries []admin.AuditEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Action+" "+e.ID+" "+e.Actor)
	}
	return all
}
