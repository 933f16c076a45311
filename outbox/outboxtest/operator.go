package outboxtest

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// mostListed is the most that an Admin lists in one answer.
const mostListed = 10_000

// operator asks for changes of what relays of testGroup have set aside.
type operator struct {
	Admin
}

// operator returns one of the subject.
func (tr *trial) operator() (operator, error) {
	a, ok := tr.Subject.(Admin)
	if !ok {
		return operator{}, errNoAdmin
	}
	return operator{a}, nil
}

// by is who asks, and why.
func by() admin.By {
	return admin.By{Actor: "ann", Reason: "the topic exists now"}
}

func ofKey(key driver.Key) admin.Selection {
	return admin.Selection{Topic: key.Topic, Key: key.Key}
}

// redrive redrives what is selected.
func (o operator) redrive(ctx context.Context, sel admin.Selection) error {
	_, err := o.Redrive(ctx, admin.RedriveRequest{By: by(), Group: testGroup, Selection: sel})
	return err
}

// drop drops what is selected.
func (o operator) drop(ctx context.Context, sel admin.Selection) error {
	_, err := o.Drop(ctx, admin.DropRequest{By: by(), Group: testGroup, Selection: sel})
	return err
}

// skipHead drops the first record of key.
func (o operator) skipHead(ctx context.Context, key driver.Key) error {
	_, err := o.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Group: testGroup, Key: key})
	return err
}

// skipNamed drops the first record of the key "k" if it has the id.
func (o operator) skipNamed(ctx context.Context, id string, dry bool) (admin.Changed, error) {
	return o.SkipHead(ctx, admin.SkipHeadRequest{By: by(), Group: testGroup, Key: testKey("k"), ID: id, DryRun: dry})
}

// skipped returns the ids of the records that relays have skipped, in that order.
func (o operator) skipped(ctx context.Context) ([]string, error) {
	entries, err := o.Audit(ctx, admin.AuditQuery{Group: testGroup, Action: driver.FateSkip.String(), Limit: mostListed})
	var ids []string
	for i := range entries {
		ids = append(ids, entries[i].ID)
	}
	return ids, err
}

// parked lists records that are parked, or wait behind one.
func (o operator) parked(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error) {
	q.State = admin.HeldParked
	return o.Held(ctx, q)
}

// lister is a method of Admin that lists records.
type lister func(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error)

// expectAside expects list to return exactly these records.
func expectAside(ctx context.Context, what string, list lister, names []string) ([]admin.HeldRecord, error) {
	all, err := list(ctx, admin.HeldQuery{Group: testGroup, Limit: mostListed})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	records := make([]outbox.Record, len(all))
	for i := range all {
		records[i] = all[i].Record
	}
	if err := expect(records, names...); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}

// errorsOf returns the texts of the errors of h.
func errorsOf(h *admin.HeldRecord) []string {
	texts := make([]string, len(h.Errors))
	for i := range h.Errors {
		texts[i] = h.Errors[i].Error
	}
	return texts
}
