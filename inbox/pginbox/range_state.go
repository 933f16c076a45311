package pginbox

import (
	"bytes"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/ids"
)

// The modes of the schema.
const (
	modeOff     = "off"     // every id is in the plain table
	modePending = "pending" // the same, while the switch is being prepared
	modeRanges  = "ranges"  // ids of version 7 from the cut-over on are in ranges that are dropped
	modeDelete  = "delete"  // they are in one range, and old rows are deleted
)

// rangeState is the row that decides the places of ids.
type rangeState struct {
	mode    string
	cutover pgtype.UUID
	floor   pgtype.UUID
	legacy  bool
	width   int64 // ms
	lowered int32 // how often the floor was lowered
	now     int64 // ms, by the database's clock
}

// switched reports whether the ranges are in use.
func (s rangeState) switched() bool {
	return s.mode == modeRanges || s.mode == modeDelete
}

// below reports whether a is below b.
func below(a, b pgtype.UUID) bool {
	return bytes.Compare(a.Bytes[:], b.Bytes[:]) < 0
}

// timed reports whether id contains the time at which it was made.
func timed(id pgtype.UUID) bool {
	_, ok := ids.Time(id.Bytes)
	return ok
}

// uuidAt returns the lowest UUID of a time in milliseconds.
func uuidAt(ms int64) pgtype.UUID {
	return pgtype.UUID{Bytes: ids.FromMillis(ms), Valid: true}
}

// madeAt returns the time at which an id of version 7 was made, for operators.
func madeAt(id pgtype.UUID) time.Time {
	return time.UnixMilli(ids.Millis(id.Bytes)).UTC()
}
