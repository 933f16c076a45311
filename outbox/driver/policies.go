package driver

import (
	"context"
	"time"
)

// PolicyKeeper is a Source that stores a note with its group: what each of the group's relays
// does with records that cannot be delivered. Without it the relay that leads decides, even if
// other relays are configured to keep such records.
type PolicyKeeper interface {
	Source

	// KeepPolicies calls change with the note, "" at first, and the time by which leases are
	// measured, and stores its result. Changes are serialised: if another relay has stored a note
	// in the meantime, change is called again with that note. change may call KeepPolicies itself.
	// Nothing is written if it returns the same note. The note goes with the group when that is
	// renamed or removed.
	//
	// There is no note before the group has had a lease: KeepPolicies then returns false, without
	// calling change.
	KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (kept bool, err error)
}
