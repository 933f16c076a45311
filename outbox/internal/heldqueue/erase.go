package heldqueue

import (
	"context"

	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/outbox/admin"
)

// Erase deletes rows of a group, in any state, with a note without key and errors. A relay that
// has one in flight skips it when it resolves it.
func (o Operators) Erase(ctx context.Context, group string, seqs []int64, by admin.By) error {
	return o.Store.Change(ctx, group, func(tx Tx) error {
		rows, err := tx.Select(ctx, Query{In: []State{Retry, Wait, Parked, Dead}, Seqs: seqs})
		if err != nil || len(rows) == 0 {
			return err
		}
		var touched keySet
		notes := make([]admin.AuditEntry, len(rows))
		for i := range rows {
			row := &rows[i]
			place := erase.Held
			if row.State == Dead {
				place = erase.Dead
			}
			touched.add(row)
			notes[i] = EraseNote(place, row.Seq, row.ID, row.Key.Topic, by)
		}
		if err := tx.Delete(ctx, rows); err != nil {
			return err
		}
		if err := tx.Note(ctx, notes); err != nil {
			return err
		}
		_, err = settle(ctx, tx, touched.keys)
		return err
	})
}

// EraseNote is the audit entry about a row that was erased at a place.
func EraseNote(place string, seq int64, id, topic string, by admin.By) admin.AuditEntry {
	return admin.AuditEntry{
		Action: "erase", Actor: by.Actor, Reason: by.Reason, Seq: seq, ID: id, Topic: topic, Details: []byte(`{"from": "` + place + `"}`),
	}
}
