package driver

import "context"

// Keeper is a Store that keeps notes with the ids that it remembers, for Config.Fingerprint and
// Config.KeepReplies of package inbox.
type Keeper interface {
	Store

	// Keep stores the note of the message called id in the transaction that ctx
	// carries, which is that of a Unit.
	Keep(ctx context.Context, id string, n Note) error

	// Kept returns the note of a message that was processed. The result is false if none was
	// kept.
	Kept(ctx context.Context, id string) (Note, bool, error)
}

// Note has the values that a Keeper keeps. Both are nil if they were not requested.
type Note struct {
	Fingerprint, Reply []byte
}
