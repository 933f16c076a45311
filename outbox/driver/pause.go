package driver

import "context"

// Pausable is a Source whose group an operator can pause.
type Pausable interface {
	Source

	// Paused returns the patterns of the topics that are paused, in which * stands for any
	// run of characters; "*" pauses all. A relay asks before it sends anything under a
	// lease, and about every Config.PollMax of the relay from then on. It writes nothing.
	Paused(ctx context.Context) ([]string, error)
}
