package relay

import (
	"context"
	"sync/atomic"

	"github.com/leat-go/leat/outbox"
)

// TopicsWithFailures returns how many topics a term of r remembers after the calls of its sink had these
// results.
func TopicsWithFailures(ctx context.Context, r *Relay, records []outbox.Record, results []outbox.Result) int {
	bs := newBreakers(r, new(atomic.Pointer[[]BreakerState]))
	bs.held = func(string) int { return 0 }
	for i := range records {
		bs.learn(ctx, records[i:i+1], results[i:i+1], 0)
	}
	return len(bs.byTopic)
}
