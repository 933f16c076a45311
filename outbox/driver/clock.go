package driver

import (
	"context"
	"time"
)

// Clocked is a Source with a clock of its own, which its leases and the times of its records use.
type Clocked interface {
	Source

	// Now returns the time of that clock. A relay calls it a few times a minute, to measure how
	// far its machine's clock is off.
	Now(ctx context.Context) (time.Time, error)
}
