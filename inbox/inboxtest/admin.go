package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
)

// RunAdmin runs the checks of operators' views and changes that f does not rule out, in parallel,
// each on a new subject.
func RunAdmin(t *testing.T, f Features, newSubject func(t *testing.T) FailureSubject) {
	t.Helper()
	runAll(t, AdminChecks(f), newSubject)
}

// AdminChecks returns the checks that RunAdmin runs. They need a FailureSubject.
func AdminChecks(f Features) []Check {
	var all []Check
	for _, group := range [][]Check{adminLookChecks(), adminListChecks(), adminChangeChecks()} {
		all = append(all, possible(unless(noFailures, group...), f)...)
	}
	return all
}

// operated is a store with parked messages, and the operators' view of it: a1, with a2 and a3
// behind it, of key a; b1, with b2 behind it, of key b; and n, without a key. Those that wait for
// an operator have the same reason, apart from the numbers in it.
type operated struct {
	FailureSubject
	redriver

	in admin.Inbox
}

// parkedOnes are the ids of the parked messages, in their order.
func parkedOnes() []string { return []string{"a1", "b1", "a2", "n", "a3", "b2"} }

// operating turns a function that needs parked messages into a run function.
func operating(run func(ctx context.Context, c operated)) func(ctx context.Context, s Subject) {
	return failing(func(ctx context.Context, s FailureSubject) {
		p := openFor(s, parking())
		in, err := s.Admin()
		fail.If(err)
		for i, id := range parkedOnes() {
			key := id[:1]
			if key == "n" {
				key = ""
			}
			fail.If(wantDelivered(ctx, p, delivery(ctx, id, key), inbox.OutcomeParked, nil, func(context.Context) error {
				return inbox.Permanent(fmt.Errorf("customer %d is unknown", i))
			}))
		}
		run(ctx, operated{FailureSubject: s, redriver: p, in: in})
	})
}

// state returns everything that operators can see of a store, as a text.
func (c operated) state(ctx context.Context) (string, error) {
	parked, err1 := c.in.Parked(ctx, admin.ParkedQuery{})
	consumers, err2 := c.in.Consumers(ctx, admin.ConsumersQuery{})
	attempts, err3 := c.in.Attempts(ctx, admin.AttemptsQuery{Consumer: consumer, All: true})
	var audit []admin.AuditEntry
	var err4 error
	if auditor, ok := c.in.(admin.Auditor); ok {
		audit, err4 = auditor.Audit(ctx, admin.AuditQuery{})
	}
	for i := range parked {
		parked[i].Message = nil // a pointer
	}
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v", parked, consumers, attempts, audit), errors.Join(err1, err2, err3, err4)
}

// tallied returns the number of keys of the messages with these ids, and when the first was
// parked.
func tallied(parked []admin.ParkedMessage, ids []string) (int, time.Time) {
	keys, oldest := map[driver.Key]bool{}, time.Time{}
	for _, p := range parked {
		if !slices.Contains(ids, p.ID) {
			continue
		}
		if p.Key != "" {
			keys[driver.Key{Topic: p.Topic, Name: p.Key}] = true
		}
		if oldest.IsZero() || p.ParkedAt.Before(oldest) {
			oldest = p.ParkedAt
		}
	}
	return len(keys), oldest
}

// wantIDs compares the ids of the changed messages.
func wantIDs(got admin.Changed, err error, want ...string) error {
	if err != nil {
		return err
	}
	if got.Count != len(want) {
		return fmt.Errorf("changed %d messages, want %d", got.Count, len(want))
	}
	return wantOrder(got.IDs, want...)
}

// wantError compares an error by errors.Is.
func wantError(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: error %w, want %w", what, orNone(err), want)
	}
	return nil
}

// wantStates compares the ids of the parked messages with their states, in order.
func (c operated) wantStates(ctx context.Context, want ...string) error {
	all, err := c.in.Parked(ctx, admin.ParkedQuery{Consumer: consumer})
	if err != nil {
		return err
	}
	got := make([]string, len(all))
	for i, p := range all {
		got[i] = p.ID + " " + string(p.State)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("parked are %q, want %q", got, want)
	}
	return nil
}
