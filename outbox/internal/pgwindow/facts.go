package pgwindow

import (
	"cmp"
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
)

// Facts are the properties of a server that a reader needs before it reads.
type Facts struct {
	// SystemIdentifier identifies the cluster.
	SystemIdentifier int64
	// Sequence is the oid of the log's sequence.
	Sequence uint32
	// SynchronousCommit is the session's setting.
	SynchronousCommit string
	// Incarnation distinguishes the log from its state before its numbers were restarted or its
	// tables restored, and from the logs of other databases of the cluster: the file number of
	// the sequence and, above its 32 bits, the oid of the database.
	Incarnation int64
	// Last is the last number that the log has assigned.
	Last int64
}

// Facts reads and checks the facts: ErrStandby on a server in recovery, ErrSequenceCache if
// sessions cache numbers, ErrSequencePrivilege if the sequence's value may not be read,
// outbox.ErrRowSecurity if rows may be hidden, and basis.ErrSubscribed if rows come from another
// server.
func (s *Statements) Facts(ctx context.Context, db Querier) (Facts, error) {
	var f Facts
	var standby bool
	var cache int64
	var mayRead bool
	var partly, subscribed string
	err := db.QueryRow(ctx, s.facts, s.names.Qualified("")).Scan(
		&standby, &f.SystemIdentifier, &f.Sequence, &cache, &f.SynchronousCommit, &mayRead, &f.Incarnation, &partly, &subscribed, &f.Last)
	switch {
	case err != nil:
		return Facts{}, err
	case standby:
		return Facts{}, ErrStandby
	case !mayRead:
		// Newer servers answer NULL to roles without the right, which would look like an empty log.
		return Facts{}, fmt.Errorf("%w: GRANT SELECT on the sequence of %s", ErrSequencePrivilege, s.names.Qualified(""))
	case partly != "":
		return Facts{}, fmt.Errorf("%w: on %s", outbox.ErrRowSecurity, partly)
	case subscribed != "":
		return Facts{}, basis.Refuse(basis.ErrSubscribed, subscribed)
	case cache != 1:
		return Facts{}, fmt.Errorf("%w: it is CACHE %d", ErrSequenceCache, cache)
	}
	return f, nil
}

// sequenceFile describes incarnations in errors.
const sequenceFile = "the file of the log's sequence"

// Belongs checks that w was stored in this cluster.
func (f Facts) Belongs(w Window) error {
	return basis.Same(basis.ErrOtherCluster, "system identifier", w.SystemIdentifier, f.SystemIdentifier)
}

// Continues checks that the log is the one that a position was stored in; 0 if that was not
// recorded.
func (f Facts) Continues(incarnation int64) error {
	if incarnation == 0 {
		return nil
	}
	if database := uint32(incarnation >> 32); database != 0 { //nolint:gosec // the upper half
		if err := basis.Same(basis.ErrOtherDatabase, "the oid of the database", database, uint32(f.Incarnation>>32)); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return basis.Same(basis.ErrLogRestarted, sequenceFile, fileOf(incarnation), fileOf(f.Incarnation))
}

// fileOf is the file of the sequence of an incarnation.
func fileOf(incarnation int64) uint32 { return uint32(incarnation) } //nolint:gosec // the lower half

// Holds checks that w, of a group whose position belongs to the log incarnation, fits this server
// and its log. w must not have been moved since the facts were read.
func (f Facts) Holds(w Window, incarnation int64) error {
	return cmp.Or(f.Belongs(w), f.Continues(incarnation), Probe{Sequence: f.Last}.reaches(w))
}
