package meminbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/inboxtest"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	inboxtest.RunAdmin(t, inboxtest.Features{}, func(*testing.T) inboxtest.FailureSubject { return &subject{} })
}

// brokenAdmins are Admins that show or change something else.
func brokenAdmins() []negative {
	return []negative{
		{"who looks registers", onAdmin(func(a *operators) admin.Inbox { return registering{a} }), map[string]string{
			"Admin_LookingRegistersNobody": "1 consumers are registered",
		}},
		{"what is redriven is not counted", onAdmin(func(a *operators) admin.Inbox { return miscounts{a} }), map[string]string{
			"Admin_ConsumersAreCounted": "Redriving:0",
		}},
		{"attempts have no pages", onAdmin(func(a *operators) admin.Inbox { return noPages{a} }), map[string]string{
			"Admin_AttemptsAreListed": "pages of 2 and 0",
		}},
		{"parked messages have no pages", onAdmin(func(a *operators) admin.Inbox { return noPages{a} }), map[string]string{
			"Admin_ParkedMessagesAreListed": `selects ["a1" "b1"], want ["a2" "n"]`,
		}},
		{"parked messages are processed", onAdmin(func(a *operators) admin.Inbox { return settled{a} }), map[string]string{
			"Admin_LookupTellsWhereAMessageIs": `"a1" is processed`,
		}},
		{"notes are not found", onAdmin(func(a *operators) admin.Inbox { return settled{a} }), map[string]string{
			"Admin_LookupFindsTheNote": "no fingerprint",
		}},
		{"each failure is a kind of its own", onAdmin(func(a *operators) admin.Inbox { return ungrouped{a} }), map[string]string{
			"Admin_FailuresAreGrouped": "4 groups",
		}},
		{"the audit has one direction", onAdmin(func(a *operators) admin.Inbox { return oldestFirst{a} }), map[string]string{
			"Admin_AuditIsListed": "the audit is",
		}},
		{"the audit forgets who asked", onAdmin(func(a *operators) admin.Inbox { return forgetful{a} }), map[string]string{
			"Admin_AuditIsListed": "of who asked",
		}},
		{"requests are not checked", onAdmin(func(a *operators) admin.Inbox { return gullible{a} }), map[string]string{
			"Admin_RequestsAreChecked": "redrive with no actor",
		}},
		{"a follower is redriven", onAdmin(func(a *operators) admin.Inbox { return overtakes{a} }), map[string]string{
			"Admin_RedriveMakesKeysDue": `"a2 redrive"`,
		}},
		{"a key waits for a dropped head", onAdmin(func(a *operators) admin.Inbox { return orphans{a} }), map[string]string{
			"Admin_DropAndSkipHead": `"a2 wait"`,
		}},
		{"nothing is an empty change", onAdmin(func(a *operators) admin.Inbox { return lenient{a} }), map[string]string{
			"Admin_NothingParkedIsAnError": "drop of nothing",
		}},
		{"a dry run drops", onAdmin(func(a *operators) admin.Inbox { return wet{a} }), map[string]string{
			"Admin_DryRunChangesNothing": "a dry run has changed",
		}},
		{"a dry run knows no age", onAdmin(func(a *operators) admin.Inbox { return ageless{a} }), map[string]string{
			"Admin_DryRunChangesNothing": "of 1 keys since 0001",
		}},
		{"nobody sees what runs", onAdmin(func(a *operators) admin.Inbox { return blind{a} }), map[string]string{
			"Admin_LookupSeesARunningMessage": `message "x" is not_seen for tester, want running`,
		}},
	}
}

func onAdmin(broken func(a *operators) admin.Inbox) func(c *control) {
	return func(c *control) { c.admin = broken }
}

// blind sees only what is committed.
type blind struct{ *operators }

func (a blind) Lookup(ctx context.Context, q admin.LookupQuery) ([]admin.Sighting, error) {
	all, err := a.operators.Lookup(ctx, q)
	for i := range all {
		if all[i].State == admin.Running {
			all[i].State = admin.NotSeen
		}
	}
	return all, err
}

// registering makes a consumer of whoever is asked about.
type registering struct{ *operators }

func (a registering) Attempts(ctx context.Context, q admin.AttemptsQuery) ([]admin.Attempts, error) {
	all, err := a.operators.Attempts(ctx, q)
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	a.store.register(q.Consumer)
	return all, err
}

// miscounts forgets what is redriven.
type miscounts struct{ *operators }

func (a miscounts) Consumers(ctx context.Context, q admin.ConsumersQuery) ([]admin.Consumer, error) {
	all, err := a.operators.Consumers(ctx, q)
	for i := range all {
		all[i].Redriving = 0
	}
	return all, err
}

// noPages begins again with each page.
type noPages struct{ *operators }

func (a noPages) Attempts(ctx context.Context, q admin.AttemptsQuery) ([]admin.Attempts, error) {
	q.After, q.Limit = "", 0
	return a.operators.Attempts(ctx, q)
}

func (a noPages) Parked(ctx context.Context, q admin.ParkedQuery) ([]admin.ParkedMessage, error) {
	q.After = 0
	return a.operators.Parked(ctx, q)
}

// settled takes what is recorded for processed, and looks no further.
type settled struct{ *operators }

func (a settled) Lookup(ctx context.Context, q admin.LookupQuery) ([]admin.Sighting, error) {
	all, err := a.operators.Lookup(ctx, q)
	for i := range all {
		all[i].Note = nil
		if all[i].State == admin.Parked {
			all[i].State = admin.Processed
		}
	}
	return all, err
}

// ungrouped groups nothing.
type ungrouped struct{ *operators }

func (a ungrouped) Failures(ctx context.Context, q admin.FailuresQuery) (all []admin.FailureGroup, _ error) {
	parked, err := a.Parked(ctx, admin.ParkedQuery{Consumer: q.Consumer, State: admin.StateParked})
	for _, p := range parked {
		all = append(all, admin.FailureGroup{
			Consumer: p.Consumer, Fingerprint: p.Reason, Example: p.Reason, Count: 1, First: p.ParkedAt, Last: p.ParkedAt,
		})
	}
	return all, err
}

// oldestFirst begins with the oldest entry, whatever it was asked for.
type oldestFirst struct{ *operators }

func (a oldestFirst) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	q.Newest = false
	return a.operators.Audit(ctx, q)
}

// forgetful keeps nothing of who asks but the name.
type forgetful struct{ *operators }

func (a forgetful) Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	r.Details = nil
	return a.operators.Redrive(ctx, r)
}

// gullible takes anybody's word.
type gullible struct{ *operators }

func (a gullible) Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	r.Actor += "anybody"
	return a.operators.Redrive(ctx, r)
}

// overtakes redrives what is named, and not the first of its key.
type overtakes struct{ *operators }

func (a overtakes) Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, change{
		By: r.By, consumer: r.Consumer, selection: r.Selection, action: "redrive", whole: true,
		can: func(*parked) bool { return true },
		do:  func(_ *Store, p *parked) { p.redrive = true },
	})
}

// orphans leaves the next message of a key waiting for one that is gone.
type orphans struct{ *operators }

func (a orphans) SkipHead(_ context.Context, r admin.SkipHeadRequest) (admin.Changed, error) {
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	for _, p := range a.store.parked {
		if p.key.Name == r.Key {
			a.store.remove(p)
			return admin.Changed{Count: 1, IDs: []string{p.id}}, nil
		}
	}
	return admin.Changed{}, admin.ErrNotParked
}

// lenient has nothing against changing nothing.
type lenient struct{ *operators }

func (a lenient) Drop(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	changed, err := a.operators.Drop(ctx, r)
	if errors.Is(err, admin.ErrNotParked) {
		err = nil
	}
	return changed, err
}

// wet changes what it was asked about.
type ageless struct{ *operators }

func (a ageless) Drop(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	changed, err := a.operators.Drop(ctx, r)
	changed.Oldest = time.Time{}
	return changed, err
}

type wet struct{ *operators }

func (a wet) SkipHead(ctx context.Context, r admin.SkipHeadRequest) (admin.Changed, error) {
	r.DryRun = false
	return a.operators.SkipHead(ctx, r)
}
