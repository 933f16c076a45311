package sim

import "slices"

// xid is the number of a transaction that has written, from 1.
type xid int64

// snapshot lists the transactions that had ended when it was taken, as PostgreSQL's do: those below
// xmax that are not in xip. xmax is one past the highest that has ended, so transactions at or
// above it may be in progress, too.
type snapshot struct {
	xmax xid
	xip  []xid // ascending
}

func (s snapshot) sees(x xid) bool {
	if x >= s.xmax {
		return false
	}
	_, open := slices.BinarySearch(s.xip, x)
	return !open
}

func (s snapshot) equal(other snapshot) bool {
	return s.xmax == other.xmax && slices.Equal(s.xip, other.xip)
}
