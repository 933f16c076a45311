package inbox

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// recoverEvery is how often RunRedrive looks for queues that a process has left half-way.
const recoverEvery = 30 * time.Second

// RunRedrive runs the messages that operators have redriven, until ctx ends; it then returns nil.
// Keep it running in the consumer's processes, in any number of them: each message takes effect
// once, and those of a key run one after another.
//
// Handle is called under the rules of Process: in a transaction that its context and the
// message's carry, and which removes the message from its queue. Attempts are counted, and after
// Policy.Attempts of them, or a Permanent error, the message is parked again, with all messages
// behind it. With a Store that is not a driver.Parker it returns an error that wraps
// outbox.ErrInvalidConfig. Errors of the database are logged, and retried after
// Config.RedrivePoll. A panic goes on.
func (p *Processor) RunRedrive(ctx context.Context, handle func(ctx context.Context, msg *message.Message) error) error {
	if p.parker == nil {
		return outbox.ConfigError("store", fmt.Sprintf("%T", p.store), "keeps no messages: RunRedrive needs a driver.Parker")
	}
	var recovered time.Time
	for ctx.Err() == nil {
		if time.Since(recovered) >= recoverEvery {
			recovered = time.Now()
			if _, err := p.parker.RecoverRedriven(ctx, 2*p.cfg.OnFailure.MaxDelay); err != nil {
				p.redriveError(ctx, err)
			}
		}
		r, ok, err := p.parker.PickRedriven(ctx)
		switch {
		case err != nil:
			p.redriveError(ctx, err)
		case ok:
			p.redrive(ctx, r, handle)
			continue
		}
		_ = wait.For(ctx, jitter.Around(p.cfg.RedrivePoll, 0.25))
	}
	return nil
}

func (p *Processor) redriveError(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox redrive cannot reach its store",
			slog.String("consumer", p.consumer), slog.Any("error", err))
	}
}

// redrive makes one attempt.
func (p *Processor) redrive(ctx context.Context, r driver.Redriven, handle func(ctx context.Context, msg *message.Message) error) {
	start, outcome := time.Now(), OutcomePanicked
	var err error
	defer func() {
		p.afterRedrive(ctx, r, outcome, err)
		p.observe(ctx, DeliveryEvent{
			Consumer: p.consumer, ID: r.ID, OccurredAt: p.occurredAt(r.Message), Attempt: r.Attempt,
			Outcome: outcome, Took: time.Since(start), Err: err, Redriven: true,
		})
	}()
	if r.Attempt > p.maxAttempts() {
		outcome, err = OutcomeFailed, errUnended
		return
	}
	r.Message.SetContext(ctx)
	own := lent.Of(r.Message)
	defer func() { own.Settle(outcome == OutcomeCommitted) }()
	d := p.newDelivery(r.Message, func(ctx context.Context) error {
		return own.To(ctx, func(msg *message.Message) error { return handle(ctx, msg) })
	})
	d.id, d.key, d.counted = r.ID, r.Key, true
	d.claim = func(ctx context.Context) (driver.Unit, driver.Status, error) {
		unit, ok, err := p.parker.ClaimRedriven(ctx, r)
		if !ok {
			return nil, driver.Busy, err
		}
		return unit, driver.Claimed, err
	}
	if p.cfg.Fingerprint != nil {
		if d.fingerprint, err = p.cfg.Fingerprint(r.Message); err != nil {
			outcome = OutcomeFailed
			return
		}
	}
	outcome, err = p.units(ctx, d)
}

// maxAttempts returns the number of attempts at a redriven message, which may have been parked
// under another policy.
func (p *Processor) maxAttempts() int {
	if p.cfg.OnFailure.Attempts == 0 {
		return defaultAttempts
	}
	return p.cfg.OnFailure.Attempts
}

// afterRedrive records the outcome of the attempt. If that fails, time makes up for it: a picked
// message becomes due again, and RecoverRedriven finds the next message of a key.
func (p *Processor) afterRedrive(ctx context.Context, r driver.Redriven, outcome Outcome, err error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	f := driver.RedriveFailure{Retry: jitter.Around(p.redriveDelay(r.Attempt), 0.25)}
	switch outcome {
	case OutcomeCommitted:
		if failed := p.parker.FinishRedriven(finish, r); failed != nil {
			p.warn(ctx, "go on with a redriven key", r.ID, failed)
		}
		return
	case OutcomeBusy:
		return
	case OutcomePanicked:
		err = errPanicked
	case OutcomeUnknown:
		if failed := p.parker.FinishRedriven(finish, r); failed != nil {
			p.warn(ctx, "go on with a redriven key", r.ID, failed)
		}
	default:
		f.Withdraw = !ShouldPoison(err)
		f.Park = !f.Withdraw && (IsPermanent(err) || r.Attempt >= p.maxAttempts())
	}
	f.AttemptError = attemptError(err)
	if f.Park {
		f.Reason = f.Error
	}
	if failed := p.parker.FailRedriven(finish, r, f); failed != nil {
		p.warn(ctx, "note a failed redrive", r.ID, failed)
	}
}

func (p *Processor) redriveDelay(attempt int) time.Duration {
	return max(p.cfg.OnFailure.delay(attempt), time.Millisecond)
}
