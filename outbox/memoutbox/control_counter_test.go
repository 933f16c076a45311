package memoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// brokenCounters are the ways of taking a counter that was set back which lose.
func brokenCounters() []negative {
	return []negative{
		{"numbers that are given out again are passed over", passesNumbers, map[string]string{
			"O2_CounterSetBackByAsManyAsCome":  "lost [come-1 come-2 come-3]",
			"O2_CounterSetBackUnderASession":   "lost [come-1 come-2 come-3]",
			"O2_CounterSetBackBetweenSessions": "lost [come-1 come-2 come-3]",
			"O2_CounterSetBackBehindABacklog":  "lost [come-1 come-2 come-3]",
			"O2_CounterSetBackUnderSlots":      "lost [come-1 come-2 come-3]",
			"O2_CounterSetBackUnderPositions":  "lost [come-1 come-2 come-3]",
		}},
		{"the refusal wears off", refusesOnce, map[string]string{
			"O2_CounterSetBackBetweenSessions": "acquire after the counter has passed where it was: no error",
		}},
	}
}

// passesNumbers loses the first records after the counter was set back.
func passesNumbers(c *control) {
	again := 0
	c.counter = func() { again = 3 }
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if again > 0 {
			again--
			return nil
		}
		return c.Enqueue(ctx, tx, msgs...)
	}
}

// refusesOnce gives out a lease again after one refusal.
func refusesOnce(c *control) {
	refuses := false
	c.counter = func() { refuses = true }
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		if refuses {
			refuses = false
			return nil, driver.ErrSourceUnusable
		}
		return s.Acquire(ctx, ttl)
	}
}
