package driver

import (
	"context"
	"time"
)

// PolicyKeeper is a Source that keeps a note beside its group: what each of the group's relays does with records that cannot
// be delivered. Without it the relay that leads decides, whatever the others are configured to keep.
type PolicyKeeper interface {
	Source

	// KeepPolicies calls change with the note, "" at first, and the time by which leases go, and stores what it returns. Changes
	// take turns: where another one was faster, change is called again with what that has stored; change may call KeepPolicies itself. Nothing is written if
	// it returns the same note. The note goes with the group when that is renamed or removed.
	//
	// Before anybody has had a lease of the group there is no note: KeepPolicies returns false, and has not called change.
	KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (kept bool, err error)
}
