package relay

import (
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
