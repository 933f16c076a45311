package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// Processor runs handlers. Each message takes effect once for its
// consumer. It is safe for concurrent use.
type Processor struct {
	consumer string
	store    driver.Store
	cfg      Config

	handlers onehandler.Guard
	repeats  streak
	queued   queuedKeys

	attempts driver.Attempter // nil if attempts are not counted
	parker   driver.Parker    // nil if the store is not a Parker
	keeper   driver.Keeper    // nil if no notes are kept

	began atomic.Bool // the store remembers ids of Config.IDFrom, or cannot tell
}

// New returns a Processor for the consumer called consumer: 1 to 200 bytes of UTF-8. The store
// remembers messages under this name, so it must stay the same when handlers and topics are
// renamed, and differ between consumers that each need every message. Errors wrap
// outbox.ErrInvalidConfig.
func New(store driver.Store, consumer string, cfg Config) (*Processor, error) {
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
	p := &Processor{consumer: consumer, store: store, cfg: cfg}
	if err := p.wire(); err != nil {
		return nil, err
	}
	return p, nil
}

// Consumer returns the name that New was given.
func (p *Processor) Consumer() string {
	return p.consumer
}

// OneHandler returns nil for the first name of a router's handler that it is called with, and for
// an empty name. After a call with a second name, it returns ErrTwoHandlers for both. Process
// calls it; code that answers instead of Process, such as a cache, must call it too. The Handle
// functions call it as well. Without a router they use the names of the handlers' functions.
func (p *Processor) OneHandler(name string) error {
	if err := p.handlers.Check(name); err != nil {
		return fmt.Errorf("leat: consumer %s: %w", p.consumer, err)
	}
	return nil
}

// MessageID returns the id that Config.IDFrom finds for msg. It is for code that answers instead
// of the inbox, such as a cache, which must use the same ids. It returns an error while the inbox
// remembers ids of another source.
func (p *Processor) MessageID(msg *message.Message) (string, error) {
	if err := p.sameIDs(msg.Context()); err != nil {
		return "", err
	}
	return p.cfg.IDFrom.Find(msg)
}

// Process runs handle for msg unless msg was processed before. Its error is nil
// exactly if msg can be acknowledged: the outcome is OutcomeCommitted,
// OutcomeDuplicate, or, under Config.OnFailure, OutcomeParked,
// OutcomeDeadLettered or OutcomeGivenUp. Process acknowledges nothing itself.
//
// The context that handle gets carries the transaction, and so does msg.Context() until Process
// returns. If handle returns an error the transaction is rolled back and the error is returned
// unchanged. If handle panics the transaction is rolled back and the panic goes on. Process also
// rolls back, and returns an error, if ctx has ended before the commit, if msg was acked or
// nacked, or if MarkRollbackOnly was called. Code that passes msg on to code that may ack it,
// such as handlers of Watermill, must pass a copy; middleware.NewInbox and the Handle functions
// do.
//
// Handle is called again, in a new transaction, if the database refuses the
// first one for a conflict with others; see Config.ConflictRetries.
//
// A Processor is for one handler: behind two of a router, or two functions given to
// Handle, Process returns ErrTwoHandlers for all messages of both. Functions that are
// given to Process itself are not compared.
//
// If the error is ErrCommitUnknown, the effects may be there or not; when msg is delivered again
// it is a duplicate or is run, whichever is right.
func (p *Processor) Process(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) error,
) (Outcome, error) {
	return p.process(ctx, p.newDelivery(msg, handle))
}

// ProcessReply is Process for a handler that returns a reply. With Config.KeepReplies the reply
// is stored in the handler's transaction, and a duplicate gets it again. Otherwise, for a message
// that was processed before KeepReplies was set, and for one that was given up, the reply of a
// duplicate is nil.
func (p *Processor) ProcessReply(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) ([]byte, error),
) (reply []byte, outcome Outcome, err error) {
	d := p.newDelivery(msg, nil)
	d.answer = handle
	outcome, err = p.process(ctx, d)
	if err != nil {
		return nil, outcome, err
	}
	return d.reply, outcome, nil
}

func (p *Processor) process(ctx context.Context, d *delivery) (outcome Outcome, err error) {
	start := time.Now()
	outcome = OutcomePanicked // replaced unless handle panics
	defer func() {
		if outcome == OutcomePanicked {
			p.panicked(ctx, d)
		}
		p.observe(ctx, DeliveryEvent{
			Consumer: p.consumer, ID: d.id, Topic: message.SubscribeTopicFromCtx(ctx), OccurredAt: p.occurredAt(d.msg),
			Attempt: d.attempt, Outcome: outcome, Took: time.Since(start), Err: err,
		})
	}()
	outcome, err = p.deliver(ctx, d)
	if outcome == OutcomeFailed || outcome == OutcomeUnknown {
		_ = wait.For(ctx, jitter.Around(p.cfg.OnFailure.delay(max(d.attempt, 1)), 0.25))
	}
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.ConsumerAfterCommitBeforeAck)
	}
	return outcome, err
}

// deliver identifies the message, counts the attempt, runs it and judges the outcome.
func (p *Processor) deliver(ctx context.Context, d *delivery) (Outcome, error) {
	err := p.identify(ctx, d)
	switch {
	case errors.Is(err, ErrNoMessageID):
		return p.anonymous(ctx, d, fmt.Errorf("leat: consumer %s: %w", p.consumer, err))
	case err != nil:
		return OutcomeFailed, fmt.Errorf("leat: consumer %s: %w", p.consumer, err)
	}
	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterReceive); err != nil {
		return OutcomeFailed, p.wrap("claim", d.id, fmt.Errorf("%w: %w", ErrNotClaimed, err))
	}
	begin := p.begin
	if p.attempts == nil {
		begin = p.beginBehind
	}
	if outcome, done, err := begin(ctx, d); done {
		return outcome, err
	}
	outcome, err := p.units(ctx, d)
	outcome, err = p.judge(ctx, d, outcome, err)
	if outcome == OutcomeDuplicate {
		return p.recall(ctx, d)
	}
	return outcome, err
}

// anonymous handles a message without an id.
func (p *Processor) anonymous(ctx context.Context, d *delivery, cause error) (Outcome, error) {
	if !p.cfg.GiveUpWithoutID {
		return OutcomeFailed, cause
	}
	id, err := nameless(ctx)
	if err != nil {
		return OutcomeFailed, err
	}
	return p.giveUpAs(ctx, d, id, cause, driver.History{Errors: []driver.AttemptError{attemptError(cause)}})
}

// recall loads the note of a message that was already processed.
func (p *Processor) recall(ctx context.Context, d *delivery) (Outcome, error) {
	if p.keeper == nil {
		return OutcomeDuplicate, nil
	}
	note, ok, err := p.keeper.Kept(ctx, d.id)
	if err != nil {
		return OutcomeFailed, p.wrap("recall", d.id, fmt.Errorf("%w: %w", ErrNotClaimed, err))
	}
	if ok && d.fingerprint != nil && note.Fingerprint != nil && !bytes.Equal(d.fingerprint, note.Fingerprint) {
		cause := p.wrap("recall", d.id, ErrFingerprintMismatch)
		return p.giveUpAs(ctx, d, p.strange(d), cause, driver.History{Errors: []driver.AttemptError{attemptError(cause)}})
	}
	d.reply = note.Reply
	return OutcomeDuplicate, nil
}

// delay waits BusyDelay ± 25 %, so that deliveries that collided once do not collide again.
func (p *Processor) delay(ctx context.Context) {
	_ = wait.For(ctx, jitter.Around(p.cfg.BusyDelay, 0.25))
}

func (p *Processor) observe(ctx context.Context, d DeliveryEvent) {
	if p.cfg.Logger.Enabled(ctx, slog.LevelDebug) {
		p.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "inbox delivery",
			slog.String("consumer", d.Consumer), slog.String("message_id", d.ID),
			slog.String("outcome", d.Outcome.String()), slog.Duration("took", d.Took))
	}
	p.tellStreak(ctx, d.Outcome)
	hooks.Call(ctx, p.cfg.Logger, p.cfg.Hooks, func(h DeliveryHook) { h.OnInboxDelivery(ctx, d) })
}

func (p *Processor) wrap(what, id string, err error) error {
	return fmt.Errorf("leat: consumer %s, message %.200q: %s: %w", p.consumer, id, what, err)
}
