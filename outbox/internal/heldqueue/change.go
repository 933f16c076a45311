package heldqueue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// Operators implements the part of admin.Outbox for records that were set aside.
type Operators struct{ Store Store }

// Redrive makes the relay try the selected records again. The first record of a key is due and
// the others follow, whichever record was named. Dead records are held again, and tried before
// the held records of their key that come after them.
//
// A relay may have a record in flight that is changed here. It is the only relay of its slot, it
// resolves what it has before it asks again, and Resolve skips records that are gone or parked.
// So no record of a key is sent before an earlier one.
func (o Operators) Redrive(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&req)
	if err != nil {
		return admin.Changed{}, err
	}
	if req.Stop {
		ask := asked{by: req.By, action: "park", dryRun: req.DryRun}
		return ask.change(ctx, o.Store, req.Group, req.Selection, pickToStop, func(tx Tx, rows []Row) error {
			stopped := slices.Clone(rows)
			for i := range stopped {
				stopped[i].State, stopped[i].Next, stopped[i].Since, stopped[i].Reason = Parked, time.Time{}, tx.Now(), req.Reason
			}
			return tx.Update(ctx, stopped)
		})
	}
	ask := asked{by: req.By, action: "redrive", dryRun: req.DryRun}
	return ask.change(ctx, o.Store, req.Group, req.Selection, pickToRedrive, func(tx Tx, rows []Row) error {
		again := slices.Clone(rows)
		for i := range again {
			again[i].redrive(tx.Now())
		}
		return tx.Update(ctx, again)
	})
}

// Drop drops the selected records. A key is dropped from its end, so that none of its records is
// sent in between. A filter selects parked records, not those behind them.
func (o Operators) Drop(ctx context.Context, req admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&req)
	if err != nil {
		return admin.Changed{}, err
	}
	ask := asked{by: req.By, action: "drop", keepErrors: true, dryRun: req.DryRun}
	return ask.change(ctx, o.Store, req.Group, req.Selection, pickToDrop, func(tx Tx, rows []Row) error { return tx.Delete(ctx, rows) })
}

// SkipHead drops the first record of a key.
func (o Operators) SkipHead(ctx context.Context, req admin.SkipHeadRequest) (admin.Changed, error) {
	err := admin.Complete(&req)
	if err != nil {
		return admin.Changed{}, err
	}
	sel := admin.Selection{Topic: req.Key.Topic, Key: req.Key.Key}
	ask := asked{by: req.By, action: "skip_head", keepErrors: true, dryRun: req.DryRun}
	return ask.change(ctx, o.Store, req.Group, sel, pickHead(req), func(tx Tx, rows []Row) error { return tx.Delete(ctx, rows) })
}

// asked is an operator's request.
type asked struct {
	by         admin.By
	action     string // for the audit
	keepErrors bool   // the audit gets the errors, since the rows are deleted
	dryRun     bool   // nothing is changed: a dry run
}

// picker returns the selected rows that are not dead.
type picker func(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error)

// change picks rows, applies the request, adds a note to the audit, and settles the lines, in one
// transaction.
func (a asked) change(
	ctx context.Context, s Store, group string, sel admin.Selection, pick picker, apply func(tx Tx, rows []Row) error,
) (changed admin.Changed, err error) {
	if a.dryRun {
		err = s.Look(ctx, group, func(r Reader) error {
			rows, err := selected(ctx, r, sel, pick)
			if err != nil || len(rows) == 0 {
				return refused(err, sel, group)
			}
			changed = changedOf(rows)
			return nil
		})
		return changed, err
	}
	err = s.Change(ctx, group, func(tx Tx) error {
		rows, err := selected(ctx, tx, sel, pick)
		if err != nil || len(rows) == 0 {
			return refused(err, sel, group)
		}
		if err := apply(tx, rows); err != nil {
			return err
		}
		if err := tx.Note(ctx, a.entries(rows)); err != nil {
			return err
		}
		changed = changedOf(rows)
		var touched keySet
		for i := range rows {
			touched.add(&rows[i])
		}
		_, err = settle(ctx, tx, touched.keys)
		return err
	})
	if err != nil {
		return admin.Changed{}, err
	}
	return changed, nil
}

func changedOf(rows []Row) admin.Changed {
	var changed admin.Changed
	for i := range rows {
		changed.Add(rows[i].ID, rows[i].Key.Topic, rows[i].Key.Key, rows[i].Since)
	}
	return changed
}

// selected returns the rows that are selected, ascending in Seq, each once: of those that
// are held or, if there are none with an ID, of the dead.
func selected(ctx context.Context, r Reader, sel admin.Selection, pick picker) (rows []Row, err error) {
	if !sel.Dead {
		rows, err = pick(ctx, r, sel)
	}
	if err == nil && len(rows) == 0 && (sel.Dead || sel.ID != "") {
		rows, err = r.Select(ctx, query(sel, Dead))
	}
	slices.SortFunc(rows, ascending)
	return slices.CompactFunc(rows, func(a, b Row) bool { return a.Seq == b.Seq }), err
}

// refused is the error if nothing was selected. A filter that matches nothing is not an error.
func refused(err error, sel admin.Selection, group string) error {
	if err != nil || sel.Filters() {
		return err
	}
	return fmt.Errorf("%w: %s of group %q", admin.ErrNotParked, sel, group)
}

func (a asked) entries(rows []Row) []admin.AuditEntry {
	all := make([]admin.AuditEntry, len(rows))
	for i := range rows {
		details := map[string]any{"from": rows[i].State.String()}
		if a.keepErrors {
			details["errors"] = failuresOf(&rows[i])
		}
		all[i] = entry(&rows[i], a.action, details)
		all[i].Actor, all[i].Reason, all[i].Details = a.by.Actor, a.by.Reason, a.by.Annotate(all[i].Details)
	}
	return all
}

// query returns the Query for the rows in a state that sel selects.
func query(sel admin.Selection, in State) Query {
	return Query{
		In: []State{in}, ID: sel.ID, Line: driver.Key{Topic: sel.Topic, Key: sel.Key},
		Topics: sel.Topics, Kind: sel.Kind, Fingerprint: sel.Fingerprint, Before: sel.Before, Limit: sel.Limit,
	}
}
