package heldqueue

import (
	"context"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// pickToRedrive returns the parked rows that are selected, or that those wait for.
func pickToRedrive(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	if sel.ID == "" {
		return pickParked(ctx, r, sel)
	}
	found, err := findByID(ctx, r, sel)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i := range found {
		if found[i].State == Parked {
			rows = append(rows, found[i])
			continue
		}
		more, err := r.Select(ctx, Query{In: []State{Parked}, Line: found[i].Key, Limit: sel.Limit})
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// pickToStop returns the rows that are selected and tried again.
func pickToStop(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	rows, err := r.Select(ctx, query(sel, Retry))
	if err == nil && len(rows) == 0 && sel.ID != "" { // a dead one is not meant
		err = fmt.Errorf("%w: record %.200q is not tried again", admin.ErrNotParked, sel.ID)
	}
	return rows, err
}

// pickToDrop returns the rows that are selected, parked or behind a parked one.
func pickToDrop(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	switch {
	case sel.ID != "":
		return findByID(ctx, r, sel)
	case sel.Key != "":
		return pickBlocked(ctx, r, sel)
	default:
		return pickParked(ctx, r, sel)
	}
}

// pickBlocked returns the first parked row of a key and what follows it, the last first:
// as long as the parked one is there, nothing behind it is sent.
func pickBlocked(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	key := driver.Key{Topic: sel.Topic, Key: sel.Key}
	heads, err := headsOf(ctx, r, []driver.Key{key})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(heads[key], func(h Row) bool { return h.State == Parked })
	if at < 0 {
		return nil, beingRetried(heads[key], sel)
	}
	return r.Select(ctx, Query{In: held(), Line: key, From: heads[key][at].Seq, Limit: sel.Limit, Last: true})
}

// pickParked returns the parked rows that are selected by key or by filter.
func pickParked(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	rows, err := r.Select(ctx, query(sel, Parked))
	if err != nil || len(rows) > 0 || sel.Key == "" {
		return rows, err
	}
	line, err := r.Heads(ctx, []driver.Key{{Topic: sel.Topic, Key: sel.Key}})
	if err != nil {
		return nil, err
	}
	return nil, beingRetried(line, sel)
}

// pickHead returns what picks the first row of the selected key, if it is the one that the
// request names.
func pickHead(req admin.SkipHeadRequest) picker {
	return func(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
		key := driver.Key{Topic: sel.Topic, Key: sel.Key}
		heads, err := headsOf(ctx, r, []driver.Key{key})
		if err != nil || len(heads[key]) == 0 {
			return nil, err
		}
		if err := req.CheckFirst(heads[key][0].ID); err != nil {
			return nil, err
		}
		if heads[key][0].State != Parked {
			return nil, beingRetried(heads[key], sel)
		}
		return heads[key][:1], nil
	}
}

// beingRetried returns admin.ErrBeingRetried if line has held records and none that sel
// asks for is parked.
func beingRetried(line []Row, sel admin.Selection) error {
	if len(line) == 0 {
		return nil
	}
	return fmt.Errorf("%w: records of key %.200q of topic %.200q", admin.ErrBeingRetried, sel.Key, sel.Topic)
}

// findByID returns the rows with an id. All are parked, or wait behind a parked row.
func findByID(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	found, err := r.Select(ctx, Query{In: held(), ID: sel.ID})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	isBlocked, err := blocked(ctx, r, found)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].State != Parked && !isBlocked(&found[i]) {
			return nil, fmt.Errorf("%w: record %.200q", admin.ErrBeingRetried, sel.ID)
		}
	}
	return found, nil
}

// blocked returns a function that reports whether one of rows waits behind a parked one.
func blocked(ctx context.Context, r Reader, rows []Row) (func(row *Row) bool, error) {
	var waiting keySet
	for i := range rows {
		if rows[i].State == Wait {
			waiting.add(&rows[i])
		}
	}
	if len(waiting.keys) == 0 {
		return func(*Row) bool { return false }, nil
	}
	heads, err := headsOf(ctx, r, waiting.keys)
	return func(row *Row) bool {
		return row.State == Wait && slices.ContainsFunc(heads[row.Key], func(h Row) bool { return h.State == Parked && h.Seq < row.Seq })
	}, err
}

// held are the states of rows that are not dead.
func held() []State {
	return []State{Retry, Wait, Parked}
}
