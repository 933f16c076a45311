package inbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/internal/wait"
)

const maxErrorBytes = 2000

var (
	errUnended  = errors.New("leat: the process ended in this attempt")
	errPanicked = errors.New("leat: the handler panicked or ended its goroutine")
)

const (
	// lookAgain bounds how often a delivery looks again after it found a parked message to wait behind,
	// but that message was gone.
	lookAgain = 3
	// unendedFor is how long the last attempt must have left no trace before its process counts as ended.
	unendedFor = time.Second
)

// begin counts the attempt. If done is true the handler must not be run, and the delivery has
// ended.
func (p *Processor) begin(ctx context.Context, d *delivery) (outcome Outcome, done bool, err error) {
	waited := false
	for range lookAgain {
		a, err := p.count(ctx, d)
		if err != nil {
			return OutcomeFailed, true, p.wrap("count the attempt", d.id, errors.Join(ErrNotClaimed, err))
		}
		d.attempt, d.counted = a.Number, a.Number > 0
		switch {
		case a.KeyParked:
			outcome, behind, err := p.follow(ctx, d)
			if behind {
				return outcome, true, err
			}
			continue // the queue has ended in between
		case a.Number > p.cfg.OnFailure.Attempts && !waited:
			p.await(ctx, d)
			waited = true
			continue
		case a.Number > p.cfg.OnFailure.Attempts:
			outcome, err := p.exhausted(ctx, d)
			return outcome, true, err
		}
		return 0, false, nil
	}
	p.delay(ctx)
	return OutcomeBusy, true, p.wrap("claim", d.id, ErrBusy)
}

// count asks about the key under every policy: it may have been parked under an earlier one.
func (p *Processor) count(ctx context.Context, d *delivery) (a driver.Attempt, err error) {
	if err := failpoint.Inject(ctx, failpoint.ConsumerAttemptWrite); err != nil {
		return driver.Attempt{}, err
	}
	err = p.retry(ctx, func() error {
		a, err = p.attempts.Attempt(ctx, d.id, d.key)
		return err
	})
	return a, err
}

// await takes the attempt back, and gives the delivery that counted the last one time to claim the message.
// See rule B5.
func (p *Processor) await(ctx context.Context, d *delivery) {
	p.withdraw(ctx, d)
	d.attempt, d.counted = 0, false
	_ = wait.For(ctx, jitter.Around(unendedFor, 0.25))
}

// exhausted gives up a message whose last attempts ended with their processes. The attempt that
// was just counted is not made.
func (p *Processor) exhausted(ctx context.Context, d *delivery) (Outcome, error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	history, err := p.attempts.Fail(finish, d.id, attemptError(errUnended))
	if err != nil {
		return OutcomeFailed, p.wrap("note the failure", d.id, errors.Join(ErrNotClaimed, err))
	}
	history.Attempts = d.attempt - 1
	return p.giveUp(ctx, d, errUnended, history)
}

// judge decides what an outcome means for the message, if attempts are counted.
func (p *Processor) judge(ctx context.Context, d *delivery, outcome Outcome, err error) (Outcome, error) {
	switch {
	case d.attempt == 0: // not counted: Busy, a duplicate, or no claim at all
		return outcome, err
	case outcome == OutcomeCommitted, outcome == OutcomeDuplicate:
		p.attempts.Settle(d.id)
		return outcome, err
	case outcome == OutcomeBusy, outcome == OutcomeFailed && !ShouldPoison(err):
		p.withdraw(ctx, d)
		return outcome, err
	case outcome != OutcomeFailed:
		return outcome, err
	}
	finish, cancel := p.finishing(ctx)
	defer cancel()
	history, failed := p.attempts.Fail(finish, d.id, attemptError(err))
	if failed != nil {
		p.warn(ctx, "note a failed attempt", d.id, failed)
		return outcome, err
	}
	// Another delivery may have counted an attempt that it has not made.
	if d.refused || IsPermanent(err) || min(d.attempt, history.Attempts) >= p.cfg.OnFailure.Attempts {
		return p.giveUp(ctx, d, err, history)
	}
	return outcome, err
}

// panicked records an attempt that ends by a panic, or with its goroutine.
func (p *Processor) panicked(ctx context.Context, d *delivery) {
	if d.attempt == 0 {
		return
	}
	finish, cancel := p.finishing(ctx)
	defer cancel()
	if _, err := p.attempts.Fail(finish, d.id, attemptError(errPanicked)); err != nil {
		p.warn(ctx, "note a failed attempt", d.id, err)
	}
}

func (p *Processor) withdraw(ctx context.Context, d *delivery) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	if err := p.attempts.Withdraw(finish, d.id); err != nil {
		p.warn(ctx, "withdraw an attempt", d.id, err)
	}
}

// warn logs a step that has failed without an effect on the outcome.
func (p *Processor) warn(ctx context.Context, step, id string, err error) {
	p.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox step failed", slog.String("operation", step),
		slog.String("consumer", p.consumer), slog.String("message_id", id), slog.Any("error", err))
}

func attemptError(err error) driver.AttemptError {
	return driver.AttemptError{At: time.Now(), Error: storable.AtMost(err.Error(), maxErrorBytes)}
}
