package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

// Processor runs handlers such that each message takes effect once for its
// consumer. It is safe for concurrent use.
type Processor struct {
	consumer string
	store    Store
	cfg      Config
}

// New returns a Processor for the consumer called consumer: 1 to
// MaxConsumerBytes bytes of UTF-8. The name is what the store remembers messages
// by, so it must stay the same through renamed handlers and topics, and differ
// between consumers that each want every message. Errors wrap
// outbox.ErrInvalidConfig.
func New(store Store, consumer string, cfg Config) (*Processor, error) {
	cfg = cfg.withDefaults()
	if err := validateConsumer(consumer); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if store == nil {
		return nil, outbox.ConfigError("store", nil, "must not be nil")
	}
	return &Processor{consumer: consumer, store: store, cfg: cfg}, nil
}

// Consumer returns the name that New was given.
func (p *Processor) Consumer() string {
	return p.consumer
}

// Process runs handle for msg unless msg was processed before. Its error is nil
// exactly if msg can be acknowledged: the outcome is OutcomeCommitted or
// OutcomeDuplicate. Process acknowledges nothing itself.
//
// The context that handle gets carries the transaction, and so does
// msg.Context() until Process returns. If handle returns an error the
// transaction is rolled back and the error returned as it is. If handle panics
// it is rolled back and the panic goes on. Process also rolls back, and returns
// an error, if ctx has ended before the commit, if msg was acked or nacked, or
// if MarkRollbackOnly was called.
//
// Where the error is ErrCommitUnknown the effects may be there or not; when msg
// comes again it is a duplicate or is run, whichever is right.
func (p *Processor) Process(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) error,
) (outcome Outcome, err error) {
	start, id := time.Now(), ""
	outcome = OutcomePanicked // until we know better
	defer func() {
		p.observe(ctx, Delivery{Consumer: p.consumer, ID: id, Outcome: outcome, Took: time.Since(start), Err: err})
	}()

	id, err = p.cfg.IDFrom(msg)
	if err == nil && id == "" {
		err = ErrNoMessageID
	}
	if err != nil {
		outcome = OutcomeFailed
		return outcome, fmt.Errorf("leat: consumer %s: %w", p.consumer, err)
	}
	unit, status, err := p.claim(ctx, id)
	switch {
	case err != nil:
		outcome, err = OutcomeFailed, p.wrap("claim", id, fmt.Errorf("%w: %w", ErrNotClaimed, err))
	case status == Claimed && unit != nil:
		outcome, err = p.run(ctx, unit, msg, id, handle)
	case status == Duplicate:
		outcome = OutcomeDuplicate
	case status == Busy:
		outcome, err = OutcomeBusy, p.wrap("claim", id, ErrBusy)
		p.delay(ctx)
	default:
		outcome, err = OutcomeFailed, p.wrap("claim", id, errors.New("store answered "+status.String()))
	}
	return outcome, err
}

func (p *Processor) claim(ctx context.Context, id string) (Unit, Status, error) {
	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterReceive); err != nil {
		return nil, 0, err
	}
	return p.store.Claim(ctx, id)
}

// run calls the handler in the unit's transaction and ends the unit. The
// rollback is deferred, so that it also happens when the handler panics or ends
// its goroutine; neither is caught.
func (p *Processor) run(
	ctx context.Context, unit Unit, msg *message.Message, id string, handle func(ctx context.Context) error,
) (Outcome, error) {
	committing := false
	defer func() {
		if !committing {
			p.rollback(ctx, unit, id)
		}
	}()

	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterClaim); err != nil {
		return OutcomeFailed, err
	}
	m := &mark{}
	if err := within(context.WithValue(unit.Context(ctx), markKey{}, m), msg, handle); err != nil {
		return OutcomeFailed, err
	}
	err := errors.Join(failpoint.Inject(ctx, failpoint.ConsumerBeforeCommit), m.err(), unacked(msg), over(ctx))
	if err != nil {
		return OutcomeFailed, p.wrap("not committed", id, err)
	}
	committing = true // which ends the unit, whatever comes of it
	return p.commit(ctx, unit, id)
}

// commit ends the unit. A refused commit is a failure like another; one without
// an answer is not.
func (p *Processor) commit(ctx context.Context, unit Unit, id string) (Outcome, error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	err := unit.Commit(finish)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.ConsumerCommitAmbiguous)
	}
	switch {
	case err == nil:
		return OutcomeCommitted, nil
	case errors.Is(err, ErrNotCommitted):
		return OutcomeFailed, p.wrap("commit", id, err)
	default:
		return OutcomeUnknown, p.wrap("commit", id, fmt.Errorf("%w: %w", ErrCommitUnknown, err))
	}
}

// over returns why ctx has ended, or nil.
func over(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// within calls handle with ctx as its and the message's context. The message
// gets its own back in any case: Watermill's Retry would run into a transaction
// that has ended, and its PoisonQueue publish with it.
func within(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) error {
	orig := msg.Context()
	defer msg.SetContext(orig) //nolint:contextcheck // that is the point
	msg.SetContext(ctx)
	return handle(ctx)
}

// unacked returns ErrAckedBeforeCommit if the message's fate is sealed already.
func unacked(msg *message.Message) error {
	select {
	case <-msg.Acked():
		return ErrAckedBeforeCommit
	case <-msg.Nacked():
		return ErrAckedBeforeCommit
	default:
		return nil
	}
}

// rollback reports an error and goes on: whatever went wrong, the transaction
// will not commit.
func (p *Processor) rollback(ctx context.Context, unit Unit, id string) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	if err := unit.Rollback(finish); err != nil {
		p.cfg.Logger.WarnContext(ctx, "inbox rollback failed, the connection is given up",
			slog.String("consumer", p.consumer), slog.String("message_id", id), slog.Any("error", err))
	}
}

// finishing returns a context that outlives ctx by at most FinishTimeout.
func (p *Processor) finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), p.cfg.FinishTimeout)
}

// delay waits BusyDelay ± 25 %, so that deliveries that met once do not meet
// again.
func (p *Processor) delay(ctx context.Context) {
	if p.cfg.BusyDelay <= 0 {
		return
	}
	jittered := float64(p.cfg.BusyDelay) * (0.75 + rand.Float64()/2) //nolint:gosec // jitter is no secret
	timer := time.NewTimer(time.Duration(jittered))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (p *Processor) observe(ctx context.Context, d Delivery) {
	p.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "inbox delivery",
		slog.String("consumer", d.Consumer), slog.String("message_id", d.ID),
		slog.String("outcome", d.Outcome.String()), slog.Duration("took", d.Took))
	for _, h := range p.cfg.Hooks {
		if hook, ok := h.(OutcomeHook); ok {
			hook.OnOutcome(ctx, d)
		}
	}
}

func (p *Processor) wrap(what, id string, err error) error {
	return fmt.Errorf("leat: consumer %s, message %s: %s: %w", p.consumer, id, what, err)
}
