package pgwindow

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

// Facts are what a reader must know about a server before it reads.
type Facts struct {
	// SystemIdentifier tells the cluster from every other.
	SystemIdentifier int64
	// Sequence is the oid of the log's sequence.
	Sequence uint32
	// SynchronousCommit is the session's setting.
	SynchronousCommit string
	// Incarnation tells the log from what it was before its numbers were restarted or
	// its tables restored: the file of the sequence.
	Incarnation int64
}

// Facts reads and checks the facts: ErrStandby on a server in recovery,
// ErrSequenceCache where sessions keep numbers back, ErrSequencePrivilege where
// the sequence's value may not be read, outbox.ErrRowSecurity where rows may be hidden,
// ErrSubscribed where rows come from another server.
func (s *Statements) Facts(ctx context.Context, db Querier) (Facts, error) {
	var f Facts
	var standby bool
	var cache int64
	var mayRead bool
	var partly, subscribed string
	err := db.QueryRow(ctx, s.facts, s.names.Qualified("")).Scan(
		&standby, &f.SystemIdentifier, &f.Sequence, &cache, &f.SynchronousCommit, &mayRead, &f.Incarnation, &partly, &subscribed)
	switch {
	case err != nil:
		return Facts{}, err
	case standby:
		return Facts{}, ErrStandby
	case !mayRead:
		// Newer servers answer NULL to those who may not ask: a log without records.
		return Facts{}, fmt.Errorf("%w: GRANT SELECT on the sequence of %s", ErrSequencePrivilege, s.names.Qualified(""))
	case partly != "":
		return Facts{}, fmt.Errorf("%w: on %s", outbox.ErrRowSecurity, partly)
	case subscribed != "":
		return Facts{}, fmt.Errorf("%w: %s", ErrSubscribed, subscribed)
	case cache != 1:
		return Facts{}, fmt.Errorf("%w: it is CACHE %d", ErrSequenceCache, cache)
	}
	return f, nil
}

// Belongs checks that w was stored in this cluster.
func (f Facts) Belongs(w Window) error {
	if w.SystemIdentifier != f.SystemIdentifier {
		return fmt.Errorf("%w: position of %d, server is %d", ErrOtherCluster, w.SystemIdentifier, f.SystemIdentifier)
	}
	return nil
}

// Continues checks that the log is the one that a position was stored in; 0 where
// that was not noted.
func (f Facts) Continues(incarnation int64) error {
	if incarnation != 0 && incarnation != f.Incarnation {
		return fmt.Errorf("%w: position of log %d, log is %d", ErrLogRestarted, incarnation, f.Incarnation)
	}
	return nil
}
