package driver

import (
	"context"
	"time"
)

// Clocked is a Source that has a clock of its own, by which its leases and its records'
// times go.
type Clocked interface {
	Source

	// Now returns what the clock shows. A relay asks a few times a minute, to tell how far
	// its machine's clock is off.
	Now(ctx context.Context) (time.Time, error)
}
