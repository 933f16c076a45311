package kafkasource

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/jitter"
)

// redeliverAfter returns the delay before the next delivery after attempt failed ones: doubled
// with each, bounded, and jittered by a quarter.
func (c Config) redeliverAfter(attempt int) time.Duration {
	delay := c.RedeliverDelay
	for range attempt - 1 {
		if delay >= c.MaxRedeliverDelay/2 {
			delay = c.MaxRedeliverDelay
			break
		}
		delay *= 2
	}
	return jitter.Around(delay, 0.25)
}

// maxRetryBackoff is the longest pause of a client between attempts to reach a broker. The
// library's default is 5 s, and its count of failures is reset only by a rebalance: from the
// second outage on, a member would always come back that late.
const maxRetryBackoff = time.Second

// retryBackoff is the pause of a client after a number of failures in a row.
func retryBackoff(failures int) time.Duration {
	delay := 250 * time.Millisecond
	for range failures - 1 {
		if delay >= maxRetryBackoff/2 {
			delay = maxRetryBackoff
			break
		}
		delay *= 2
	}
	return jitter.Around(delay, 0.25)
}

// pause waits for d, or until ctx has ended or stop is closed.
func pause(ctx context.Context, d time.Duration, stop <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-stop:
	}
}
