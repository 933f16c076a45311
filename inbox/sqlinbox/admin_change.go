package sqlinbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/wait"
)

// change is a change of parked messages that an operator requests.
type change struct {
	admin.By

	consumer  string
	selection admin.Selection
	dryRun    bool
	action    string
	whole     bool // changes the selected messages themselves, not the first ones of their keys
}

// target is a parked message to change. Its number is 0 if there is none.
type target struct {
	no    int64
	state admin.ParkedState
	id    string
	key   driver.Key
	at    time.Time // when it was parked
}

// Redrive implements admin.Inbox.
func (a *operators) Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, change{By: r.By, consumer: r.Consumer, selection: r.Selection, dryRun: r.DryRun, action: "redrive"})
}

// SkipHead implements admin.Inbox.
func (a *operators) SkipHead(ctx context.Context, r admin.SkipHeadRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, change{
		By: r.By, consumer: r.Consumer, dryRun: r.DryRun, action: "skip_head",
		selection: admin.Selection{Topic: r.Topic, Key: r.Key, Limit: 1},
	})
}

// Drop implements admin.Inbox.
func (a *operators) Drop(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, change{
		By: r.By, consumer: r.Consumer, selection: r.Selection, dryRun: r.DryRun, action: "drop", whole: true,
	})
}

func (a *operators) change(ctx context.Context, c change) (changed admin.Changed, err error) {
	number, err := a.known(ctx, c.consumer)
	if err != nil {
		return changed, err
	}
	targets, err := a.selected(ctx, number, c)
	if err != nil {
		return changed, err
	}
	if c.whole && c.selection.Key != "" && len(targets) > 0 {
		if err := c.refuse(targets[0]); err != nil {
			return changed, err
		}
		slices.Reverse(targets) // the first goes last, since the next one would be due
		defer func() { slices.Reverse(changed.IDs) }()
	}
	seen := map[driver.Key]bool{}
	for _, t := range targets {
		first := t.key.Name != "" && !c.whole
		if first && seen[t.key] {
			continue
		}
		seen[t.key] = true
		one, done, err := a.changeMessage(ctx, number, c, t, first)
		if err != nil {
			return changed, a.Describe(err)
		}
		if done {
			changed.Add(one.id, one.key.Topic, one.key.Name, one.at)
		}
	}
	if changed.Count == 0 && (c.selection.Key != "" || c.selection.ID != "") {
		return changed, fmt.Errorf("%w: consumer %s, %s", admin.ErrNotParked, c.consumer, c.selection)
	}
	return changed, nil
}

// selected returns the selected messages, in order. A filter selects only messages that are
// parked themselves, not those that wait behind them.
func (a *operators) selected(ctx context.Context, number int64, c change) ([]target, error) {
	sel := c.selection
	q := admin.ParkedQuery{
		Consumer: c.consumer, Topic: sel.Topic, Key: sel.Key, ID: sel.ID, Before: sel.Before, Limit: sel.Limit, OmitPayload: true,
	}
	switch {
	case sel.ID == "" && sel.Key == "":
		q.Topic, q.State, q.Fingerprint = sel.OfTopic, admin.StateParked, sel.Fingerprint
	case c.whole && sel.Key != "":
		q.Limit = maxListed
	}
	listed, err := a.parked(ctx, number, q)
	targets := make([]target, len(listed))
	for i, l := range listed {
		targets[i] = target{no: l.No, state: l.State, id: l.ID, key: driver.Key{Topic: l.Topic, Name: l.Key}, at: l.ParkedAt}
	}
	return targets, err
}

// refuse returns an error if t is being redriven: it may be running right now.
func (c change) refuse(t target) error {
	if t.state != admin.StateRedrive {
		return nil
	}
	return fmt.Errorf("%w: consumer %s, message %.200q", admin.ErrBeingRetried, c.consumer, t.id)
}

// changeMessage changes t, or the first of its key, in a transaction under the key's lock.
func (a *operators) changeMessage(ctx context.Context, number int64, c change, t target, first bool) (_ target, done bool, err error) {
	k := a.key(c.consumer, t.key)
	pick := func(q sqlstore.Querier) error {
		if first {
			if t, err = a.first(ctx, q, number, k); err != nil {
				return err
			}
			t.key = k.Key
		}
		return c.refuse(t)
	}
	if c.dryRun {
		err = a.Query(ctx, pick)
		return t, err == nil && t.no != 0 && (c.action != "redrive" || t.state == admin.StateParked), err
	}
	err = a.Change(ctx, func(tx *sql.Tx) error {
		if err := a.lockKey(ctx, tx, k); err != nil {
			return err
		}
		if err := pick(tx); err != nil || t.no == 0 { // the key has no messages any more
			return err
		}
		if done, err = a.apply(ctx, tx, number, c, t); err != nil {
			return err
		}
		return a.promote(ctx, tx, number, k)
	})
	return t, done && err == nil, err
}

// apply changes t and audits it, unless t has changed since it was selected.
func (a *operators) apply(ctx context.Context, tx *sql.Tx, number int64, c change, t target) (bool, error) {
	e := audited{number: number, action: c.action, by: c.By, no: t.no, id: t.id, key: t.key}
	if c.action == "redrive" {
		var no int64
		err := tx.QueryRowContext(ctx, a.SQL["parked_take"], t.no, string(admin.StateParked)).Scan(&no)
		if sqlstore.IsNoRows(err) {
			return false, nil
		}
		if err == nil {
			_, err = a.Exec(ctx, tx, "parked_due", t.no, string(admin.StateParked))
		}
		if err == nil {
			_, err = a.note(ctx, tx, e)
		}
		return err == nil, err
	}
	var d struct {
		Attempts int             `json:"attempts"`
		Errors   json.RawMessage `json:"errors"`
	}
	err := tx.QueryRowContext(ctx, a.SQL["parked_get"], t.no).Scan(&d.Attempts, (*[]byte)(&d.Errors))
	if sqlstore.IsNoRows(err) {
		return false, nil
	}
	if err == nil {
		_, err = a.Exec(ctx, tx, "parked_delete", t.no)
	}
	if err == nil {
		var details []byte
		if details, err = json.Marshal(d); err == nil {
			e.details = details
			_, err = a.note(ctx, tx, e)
		}
	}
	return err == nil, err
}

// first returns the first message of a key.
func (t *tables) first(ctx context.Context, q sqlstore.Querier, number int64, k key) (found target, err error) {
	var state, id []byte
	var at int64
	err = q.QueryRowContext(ctx, t.SQL["parked_first"], number, k.hash, k.topic, k.name).Scan(&found.no, &state, &id, &at)
	if sqlstore.IsNoRows(err) {
		return target{}, nil
	}
	found.state, found.id, found.key, found.at = admin.ParkedState(state), string(id), k.Key, sqlstore.Time(at)
	return found, err
}

// lowerWithin is for how long LowerFloor waits for deliveries to end.
const lowerWithin = 10 * time.Second

// LowerFloor implements admin.Retainer. It lowers the floors of several locks at a time, and is
// audited before it begins.
func (a *operators) LowerFloor(ctx context.Context, r admin.LowerFloorRequest) (previous time.Time, err error) {
	if err = admin.Complete(&r); err != nil {
		return previous, err
	}
	now, previous, err := a.floor(ctx, "floor_highest")
	if err != nil {
		return previous, err
	}
	to, err := r.Check(now, previous)
	if err != nil || r.DryRun {
		return previous, err
	}
	details, _ := json.Marshal(map[string]time.Time{"previous": previous, "to": to}) // times
	err = a.Change(ctx, func(tx *sql.Tx) error {
		_, err := a.note(ctx, tx, audited{action: "lower_floor", by: r.By, details: details})
		return err
	})
	for began, highest := time.Now(), previous; err == nil && highest.After(to); {
		if time.Since(began) > lowerWithin {
			return previous, fmt.Errorf("leat: deliveries have not ended for %s, and the floor of their locks is not lowered: call it again", lowerWithin)
		}
		if err = a.move(ctx, "floor_above", to.UnixMilli()); err == nil {
			_, highest, err = a.floor(ctx, "floor_highest")
		}
		if err == nil && highest.After(to) {
			err = wait.For(ctx, lookTakes)
		}
	}
	return previous, err
}
