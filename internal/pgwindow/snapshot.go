package pgwindow

import (
	"fmt"
	"strconv"
	"strings"
)

// Snapshot is a pg_snapshot: what was committed at one instant.
type Snapshot struct {
	// Text is PostgreSQL's spelling, xmin:xmax:xip,….
	Text string
	// Xmax is one past the highest completed xid. At or above it nothing is
	// visible.
	Xmax uint64
	// Xip are the transactions below Xmax that were under way.
	Xip map[uint64]struct{}
}

// ParseSnapshot parses PostgreSQL's spelling of a pg_snapshot.
func ParseSnapshot(text string) (Snapshot, error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return Snapshot{}, fmt.Errorf("leat: pg_snapshot %q: want xmin:xmax:xip", text)
	}
	if _, err := strconv.ParseUint(parts[0], 10, 64); err != nil {
		return Snapshot{}, fmt.Errorf("leat: pg_snapshot %q: xmin: %w", text, err)
	}
	xmax, err := strconv.ParseUint(parts[1], 10, 64)
	if err != nil {
		return Snapshot{}, fmt.Errorf("leat: pg_snapshot %q: xmax: %w", text, err)
	}
	s := Snapshot{Text: text, Xmax: xmax, Xip: make(map[uint64]struct{})}
	if parts[2] == "" {
		return s, nil
	}
	for x := range strings.SplitSeq(parts[2], ",") {
		xid, err := strconv.ParseUint(x, 10, 64)
		if err != nil {
			return Snapshot{}, fmt.Errorf("leat: pg_snapshot %q: xip: %w", text, err)
		}
		s.Xip[xid] = struct{}{}
	}
	return s, nil
}

// EndedBy says whether a transaction that was under way in s had ended in
// later.
func (s Snapshot) EndedBy(later Snapshot) bool {
	for xid := range s.Xip {
		if _, running := later.Xip[xid]; !running {
			return true
		}
	}
	return false
}
