package heldqueue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// failure is an error of a delivery as stored in the audit.
type failure struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`
	Error string    `json:"error"`
	Epoch int64     `json:"epoch"`
}

func failuresOf(row *Row) []failure {
	all := make([]failure, len(row.Errors))
	for i, e := range row.Errors {
		all[i] = failure(e)
	}
	return all
}

// note adds an entry about a record that a relay has parked, given up or skipped.
func (by Relay) note(notes []admin.AuditEntry, row *Row, fate driver.Fate) []admin.AuditEntry {
	if fate != driver.FatePark && fate != driver.FateDead && fate != driver.FateSkip {
		return notes
	}
	e := entry(row, fate.String(), map[string]any{"epoch": by.Epoch, "errors": failuresOf(row)})
	e.Actor, e.Reason = by.Owner, row.Reason
	return append(notes, e)
}

// entry returns an audit entry about row, without actor and reason.
func entry(row *Row, action string, details map[string]any) admin.AuditEntry {
	raw, _ := json.Marshal(details) // nil if a relay's clock is past the year 9999
	return admin.AuditEntry{
		Action: action, Seq: row.Seq, ID: row.ID, Topic: row.Key.Topic, Key: row.Key.Key, Details: raw,
	}
}

// note adds entries to the audit, if there are any.
func note(ctx context.Context, tx Tx, entries []admin.AuditEntry) error {
	if len(entries) == 0 {
		return nil
	}
	return tx.Note(ctx, entries)
}
