package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// mode is how a term delivers its pages: by key, in total order, or exactly once. The reader and
// the sender call it without knowing which one it is. The methods take two contexts, as term.run
// does: nothing is begun after stop has ended, and work is the context of the calls.
type mode interface {
	// beforeRead prepares the session. The reader calls it before the first Read.
	beforeRead(stop, work context.Context) error
	// noteRead records a page that was read. The reader calls it before the sender has the page.
	noteRead(records []outbox.Record)

	// The sender calls the other methods. beforeSend comes before all of them.
	beforeSend(work context.Context) error
	// deliver delivers page and stores the position behind it. It also returns nil if stop ends
	// first: the rest of the page stays for the next term.
	deliver(stop, work context.Context, page driver.Page) error
	// nextRetry returns when to call retryHeld next; zero if never.
	nextRetry() time.Time
	// retryHeld delivers the held records that are due, if it is time.
	retryHeld(stop, work context.Context) error
	// finish is called after the last page.
	finish(stop, work context.Context) error
}

// newMode returns a mode for a new term, whose sender is s.
type newMode func(s *sender) (mode, error)

// chooseMode returns the mode of a relay to sink. It is the only place that decides it. The error
// wraps outbox.ErrInvalidConfig if the mode cannot work with cfg.
func chooseMode(cfg *Config, sink driver.Sink) (newMode, error) {
	if sink, ok := sink.(driver.TransactionalSink); ok {
		newExact := func(s *sender) (mode, error) { return newExactMode(s, sink) }
		return newExact, validateExact(cfg, sink)
	}
	if cfg.TotalOrder {
		return newTotalMode, requireBlock(cfg.Policies, "the order is total")
	}
	return newKeyMode, nil
}

// requireBlock returns an error if a policy would let records pass one that cannot be
// delivered.
func requireBlock(policies []Policy, because string) error {
	for i, p := range policies {
		if p.Action != Block {
			return outbox.ConfigError(fmt.Sprintf("Policies[%d].Action", i), p.Action, "must be block where "+because)
		}
	}
	return nil
}

// holdsNothing is the part of a mode that never sets records aside.
type holdsNothing struct{}

func (holdsNothing) noteRead([]outbox.Record) {}

func (holdsNothing) beforeSend(context.Context) error { return nil }

func (holdsNothing) nextRetry() time.Time { return time.Time{} }

func (holdsNothing) retryHeld(_, _ context.Context) error { return nil }

func (holdsNothing) finish(_, _ context.Context) error { return nil }

// requireNoneHeld refuses a slot in which an earlier relay has set records aside. A mode that
// sets nothing aside would never send them, even if they are redriven, and would send later
// records of their keys before them.
func requireNoneHeld(work context.Context, t *term) error {
	holder, ok := t.session.(driver.Holder)
	if !ok {
		return nil
	}
	n, err := holder.CountHeld(work)
	if err == nil && n > 0 {
		err = fmt.Errorf("%w: an earlier relay has set aside %d records, which a relay in total order or with a transactional sink never sends: "+
			"redrive them with a relay as it was before, or drop them", driver.ErrSourceUnusable, n)
	}
	if err != nil {
		return t.fault(work, "count_held", err)
	}
	return nil
}
