package relay

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/jitter"
)

// backoff is a wait that doubles from first to most, jittered by a half, until
// it is reset.
type backoff struct {
	first, most, last time.Duration
}

func (b *backoff) next() time.Duration {
	b.last = min(max(b.last*2, b.first), b.most)
	return jitter.Below(b.last, 0.5)
}

func (b *backoff) reset() {
	b.last = 0
}

// pause waits for d or until ctx ends, and says whether it waited for d.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
