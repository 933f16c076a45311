package pgwindow

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	errSnapshotForm  = errors.New("want xmin:xmax:xip")
	errSnapshotOrder = errors.New("want 0 < xmin <= xip < xmax, ascending")
)

// Snapshot is a pg_snapshot: what was committed at one instant.
type Snapshot struct {
	// Text is PostgreSQL's spelling, xmin:xmax:xip,….
	Text string
	// Xmax is one past the highest completed xid. At or above it nothing is
	// visible.
	Xmax uint64
	// Xip are the transactions below Xmax that were in progress.
	Xip map[uint64]struct{}
}

// ParseSnapshot parses PostgreSQL's spelling of a pg_snapshot. It is as strict as the server:
// what it accepts, the server accepts.
func ParseSnapshot(text string) (Snapshot, error) {
	s, err := parseSnapshot(text)
	if err != nil {
		return Snapshot{}, fmt.Errorf("leat: pg_snapshot %.100q: %w", text, err)
	}
	return s, nil
}

func parseSnapshot(text string) (Snapshot, error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return Snapshot{}, errSnapshotForm
	}
	xmin, err := strconv.ParseUint(parts[0], 10, 64)
	if err != nil {
		return Snapshot{}, fmt.Errorf("xmin: %w", cause(err))
	}
	xmax, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return Snapshot{}, fmt.Errorf("xmax: %w", cause(err))
	}
	if xmin == 0 || xmax < xmin {
		return Snapshot{}, fmt.Errorf("xmin = %d, xmax = %d: %w", xmin, xmax, errSnapshotOrder)
	}
	s := Snapshot{Text: text, Xmax: xmax, Xip: make(map[uint64]struct{})}
	if parts[2] == "" {
		return s, nil
	}
	least := xmin
	for x := range strings.SplitSeq(parts[2], ",") {
		xid, err := strconv.ParseUint(x, 10, 64)
		if err != nil {
			return Snapshot{}, fmt.Errorf("xip: %w", cause(err))
		}
		if xid < least || xid >= xmax {
			return Snapshot{}, fmt.Errorf("xip = %d: %w", xid, errSnapshotOrder)
		}
		s.Xip[xid] = struct{}{}
		least = xid + 1
	}
	return s, nil
}

// cause is the cause of a *strconv.NumError without the text, which may be long.
func cause(err error) error {
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return wrapped
	}
	return err
}

// EndedBy reports whether a transaction that was in progress in s had ended in later.
func (s Snapshot) EndedBy(later Snapshot) bool {
	for xid := range s.Xip {
		if _, running := later.Xip[xid]; !running {
			return true
		}
	}
	return false
}

// Sees reports whether transaction xid is visible in the snapshot, as pg_visible_in_snapshot
// does. It does not know which transactions were rolled back.
func (s Snapshot) Sees(xid uint64) bool {
	if xid >= s.Xmax {
		return false
	}
	_, running := s.Xip[xid]
	return !running
}
