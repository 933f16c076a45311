package inboxtest

import "errors"

// ErrLacks is wrapped by an error if a subject lacks what its Features do not rule out.
var ErrLacks = errors.New("leat: the subject cannot do what its Features do not rule out")

// Features lists the parts of the contract that an inbox does not promise. The zero value stands for the
// whole contract. A feature that the inbox has must be claimed: see Claims.
type Features struct {
	// NoOutbox is set if Outbox returns nil.
	NoOutbox bool

	// NoBreakCommit is set if BreakCommit does nothing.
	NoBreakCommit bool

	// OneWriter is set if only one delivery at a time has a transaction. Another delivery, of the
	// same message or of any other, waits for its end, or fails after a while. Copies cannot be
	// distinguished from other messages then, so none is Busy.
	OneWriter bool

	// Optimistic is set if copies of a message run at the same time, and none of them is Busy:
	// one commits, and the commits of the others find that they are duplicates.
	Optimistic bool

	// NoForget is set if the inbox remembers everything for ever. Without it the Subject
	// is a Forgetter.
	NoForget bool

	// NoSharedLocks is set if each message has a lock of its own. Without it the Subject
	// is a Collider.
	NoSharedLocks bool

	// NoFailures is set if inboxes count no attempts, park nothing and keep no notes.
	// Without it the Subject is a FailureSubject, and RunFailures and RunAdmin check it.
	NoFailures bool

	// NoBatches is set if the store claims no batches. Without it the Subject is a
	// BatchSubject, and RunBatch checks it.
	NoBatches bool

	// NoAudit is set if the operators' interface of the store is not an admin.Auditor.
	NoAudit bool

	// NoMarks is set if the inbox notes no marks of consumer groups. Without it the Subject is a
	// MarkSubject.
	NoMarks bool

	// NoLoss is set if a store of positions cannot be made to lose commits. Without it the
	// PositionSubject is a PositionForgetter.
	NoLoss bool
}

func needsOutbox(f Features) bool      { return f.NoOutbox }
func needsBreakCommit(f Features) bool { return f.NoBreakCommit }
func oneWriter(f Features) bool        { return f.OneWriter }
func optimistic(f Features) bool       { return f.Optimistic }
func pessimistic(f Features) bool      { return !f.Optimistic || f.OneWriter }
func nobodyIsBusy(f Features) bool     { return f.OneWriter || f.Optimistic }
func noForget(f Features) bool         { return f.NoForget }
func noSharedLocks(f Features) bool    { return f.NoSharedLocks }
func noFailures(f Features) bool       { return f.NoFailures }
func noBatches(f Features) bool        { return f.NoBatches }
func noAudit(f Features) bool          { return f.NoAudit }
func noMarks(f Features) bool          { return f.NoMarks }
func noLoss(f Features) bool           { return f.NoLoss }

// unless adds lacks to the conditions that rule out each of checks.
func unless(lacks func(f Features) bool, checks ...Check) []Check {
	for i := range checks {
		own := checks[i].skip
		checks[i].skip = func(f Features) bool { return lacks(f) || own != nil && own(f) }
	}
	return checks
}
