package admin

import "math"

// Range is a part of the log, which retention drops as a whole.
type Range struct {
	// Table is the name of the table that holds it, without its schema.
	Table string
	// From is its first sequence number. To is one past its last: math.MaxInt64 if it is
	// open-ended.
	From, To int64
	// Bytes is its size with its indexes, 0 if that is not known.
	Bytes int64
	// PinnedBy are the relay groups that have not settled all of it, by name. Only
	// RangeLister.Ranges sets it.
	PinnedBy []string
}

// Open reports whether the range has no end.
func (r Range) Open() bool { return r.To == math.MaxInt64 }
