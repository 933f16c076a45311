package heldqueue

import (
	"context"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// pickToRedrive returns the parked rows that are selected, or that the selected rows wait for.
// For a key that is named and not parked, it returns the first row, which is being tried again:
// it becomes due at once.
func pickToRedrive(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	if sel.ID == "" {
		return pickParked(ctx, r, sel)
	}
	found, err := r.Select(ctx, Query{In: held(), ID: sel.ID})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i := range found {
		if found[i].State != Wait {
			rows = append(rows, found[i])
			continue
		}
		more, err := pickParked(ctx, r, admin.Selection{Topic: found[i].Key.Topic, Key: found[i].Key.Key, Limit: sel.Limit})
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// pickToStop returns the selected rows that are being tried again.
func pickToStop(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	rows, err := r.Select(ctx, query(sel, Retry))
	if err == nil && len(rows) == 0 && sel.ID != "" { // a dead one does not count
		err = fmt.Errorf("%w: record %.200q is not tried again", admin.ErrNotParked, sel.ID)
	}
	return rows, err
}

// pickToDrop returns the selected rows; with a filter, only parked ones.
func pickToDrop(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	switch {
	case sel.ID != "":
		return r.Select(ctx, Query{In: held(), ID: sel.ID})
	case sel.Key != "":
		return pickLine(ctx, r, sel)
	default:
		return pickParked(ctx, r, sel)
	}
}

// pickLine returns the first parked row of a key and what follows it, or all of it if none is
// parked; the last first, so that no dropped row is sent out of order in the meantime.
func pickLine(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	key := driver.Key{Topic: sel.Topic, Key: sel.Key}
	heads, err := headsOf(ctx, r, []driver.Key{key})
	if err != nil || len(heads[key]) == 0 {
		return nil, err
	}
	at := max(0, slices.IndexFunc(heads[key], func(h Row) bool { return h.State == Parked }))
	return r.Select(ctx, Query{In: held(), Line: key, From: heads[key][at].Seq, Limit: sel.Limit, Last: true})
}

// pickParked returns the parked rows that are selected by key or by filter; for a key without
// any, its first row.
func pickParked(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
	rows, err := r.Select(ctx, query(sel, Parked))
	if err != nil || len(rows) > 0 || sel.Key == "" {
		return rows, err
	}
	return pickFirst(ctx, r, driver.Key{Topic: sel.Topic, Key: sel.Key})
}

// pickFirst returns the first row of a key.
func pickFirst(ctx context.Context, r Reader, key driver.Key) ([]Row, error) {
	heads, err := headsOf(ctx, r, []driver.Key{key})
	return heads[key][:min(1, len(heads[key]))], err
}

// pickHead returns a function that picks the first row of the selected key, if it is the one that
// the request names.
func pickHead(req admin.SkipHeadRequest) picker {
	return func(ctx context.Context, r Reader, sel admin.Selection) ([]Row, error) {
		first, err := pickFirst(ctx, r, driver.Key{Topic: sel.Topic, Key: sel.Key})
		if err == nil && len(first) > 0 {
			err = req.CheckFirst(first[0].ID)
		}
		return first, err
	}
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
