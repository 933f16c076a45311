package heldqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// ask lets an operator change something. Requests that are refused are none.
func (w *world) ask(ctx context.Context, m *move) error {
	for _, row := range w.rows.Rows() {
		w.revived[row.Seq] = w.revived[row.Seq] || row.State == heldqueue.Dead
	}
	before := w.rows.Rows()
	by, sel := admin.By{Actor: "ann", Reason: "test"}, admin.Selection{Topic: "orders", Key: m.Key}
	if m.Key == "*" || m.Do == "redrive_dead" {
		sel = admin.Selection{Topics: "*", Dead: m.Do == "redrive_dead"}
	}
	var err error
	switch m.Do {
	case "drop":
		_, err = w.Drop(ctx, admin.ChangeRequest{By: by, Selection: sel})
	case "skip_head":
		_, err = w.SkipHead(ctx, admin.SkipHeadRequest{By: by, Key: driver.Key{Topic: "orders", Key: m.Key}})
	default:
		_, err = w.Redrive(ctx, admin.ChangeRequest{By: by, Selection: sel})
	}
	if m.Do == "drop" || m.Do == "skip_head" {
		w.dropped(before)
	}
	if errors.Is(err, admin.ErrNotParked) {
		return nil
	}
	return err
}

// dropped notes which rows are not there any more.
func (w *world) dropped(before []heldqueue.Row) {
	for _, row := range before {
		if !slices.ContainsFunc(w.rows.Rows(), func(r heldqueue.Row) bool { return r.Seq == row.Seq }) {
			w.gone[row.Seq] = true
		}
	}
}

// complete tests that each record is in exactly one place: sent, gone, or stored.
func (w *world) complete() error {
	places := make(map[int64]int)
	for _, seq := range w.sent {
		places[seq]++
	}
	for seq, gone := range w.gone {
		if gone {
			places[seq]++
		}
	}
	for _, row := range w.rows.Rows() {
		places[row.Seq]++
	}
	for seq := int64(1); seq <= w.last; seq++ {
		if places[seq] != 1 {
			return fmt.Errorf("record %d is in %d places", seq, places[seq])
		}
	}
	return nil
}
