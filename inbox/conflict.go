package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
)

// maxConflictDelay is the longest wait between retries of a conflict.
const maxConflictDelay = 500 * time.Millisecond

// units claims, runs and commits until there is no conflict. Each try is a transaction of its own
// that leaves nothing behind; the handler is called again. A failure that the store classifies as
// an outage is marked as one.
func (p *Processor) units(ctx context.Context, d *delivery) (outcome Outcome, err error) {
	err = p.retry(ctx, func() error {
		outcome, err = p.unit(ctx, d)
		return err
	})
	if outcome == OutcomeFailed {
		err = markOutage(p.store, err)
	}
	return outcome, err
}

// markOutage marks an error that store classifies as an outage.
func markOutage(store driver.Store, err error) error {
	if classifier, ok := store.(driver.Classifier); ok && err != nil && classifier.Outage(err) {
		return Outage(err)
	}
	return err
}

// retry calls work until it meets no conflict, or ConflictRetries are used up. An unknown outcome
// is not a conflict.
// See design 12.7.
func (p *Processor) retry(ctx context.Context, work func() error) error {
	classifier, _ := p.store.(driver.Classifier)
	for try := 0; ; try++ {
		err := work()
		if err == nil || classifier == nil || ctx.Err() != nil || errors.Is(err, ErrCommitUnknown) || !classifier.Conflict(err) {
			return err
		}
		if try >= p.cfg.ConflictRetries {
			return fmt.Errorf("%w: %w", ErrConflict, err)
		}
		_ = wait.For(ctx, jitter.Around(min(p.cfg.ConflictDelay<<min(try, 20), maxConflictDelay), 0.5))
	}
}
