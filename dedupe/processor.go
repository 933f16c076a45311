package dedupe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/onehandler"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// Processor runs handlers and suppresses repeats of a message. It is
// safe for concurrent use.
type Processor struct {
	store    Store
	consumer string
	cfg      Config
	handlers onehandler.Guard
	named    atomic.Int64 // until when NameIDs need not ask the store, by clocks.Passed

	// steps runs the steps of a message's handler: p with the store itself.
	steps *Processor
}

// New returns a Processor for the consumer called consumer, 1 to 200 bytes of UTF-8. The store remembers messages under this name: it must stay the same even if
// handlers and topics are renamed. Errors wrap outbox.ErrInvalidConfig.
func New(store Store, consumer string, cfg Config) (*Processor, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	switch {
	case store == nil:
		return nil, outbox.ConfigError("store", nil, "must not be nil")
	case consumer == "" || len(consumer) > maxConsumerBytes || !utf8.ValidString(consumer):
		return nil, outbox.ConfigError("consumer", strconv.Quote(consumer), "must be 1 to 200 bytes of UTF-8")
	}
	steps := &Processor{store: store, consumer: consumer, cfg: cfg}
	steps.steps = steps
	return &Processor{store: messages{store}, consumer: consumer, cfg: cfg, steps: steps}, nil
}

// Consumer returns the name that New was given.
func (p *Processor) Consumer() string {
	return p.consumer
}

// OneHandler returns nil for the first name of a router's handler that it is called with, and for
// an empty name. After a call with a second name, it returns inbox.ErrTwoHandlers for both.
// middleware.NewDedupe's middleware calls it for each message.
func (p *Processor) OneHandler(name string) error {
	if err := p.handlers.Check(name); err != nil {
		return fmt.Errorf("leat: consumer %s: %w", p.consumer, err)
	}
	return nil
}

// idsKey is the id of the record that holds the source of a consumer's ids.
const idsKey = "leat: where ids come from"

// NameIDs returns an error while the store remembers records whose ids come from a source with
// another name. If no source is recorded, it records name. It is for code that finds the ids of
// messages, such as middleware.NewDedupe, which calls it for each message; the store is asked
// once a minute.
func (p *Processor) NameIDs(ctx context.Context, name string) error {
	if until := p.named.Load(); until != 0 && int64(clocks.Passed()) < until {
		return nil
	}
	err := p.nameIDs(ctx, name)
	switch {
	case err == nil:
		p.named.Store(int64(clocks.Passed() + time.Minute))
	case p.cfg.FailOpen && errors.Is(err, ErrUnavailable):
		return nil
	}
	return err
}

func (p *Processor) nameIDs(ctx context.Context, name string) error {
	token, err := ids.New()
	if err != nil {
		return err
	}
	key := Key{Consumer: p.consumer, ID: idsKey}
	claim, err := p.store.Claim(ctx, key, Request{Token: token, Lease: p.cfg.Lease})
	if err == nil && claim.Status == Claimed {
		_, err = p.store.Complete(ctx, key, token, []byte(name))
	}
	switch {
	case err != nil:
		return fmt.Errorf("leat: consumer %s: %w: note where ids come from: %w", p.consumer, ErrUnavailable, err)
	case claim.Status == Busy:
		return fmt.Errorf("leat: consumer %s: note where ids come from: %w", p.consumer, &BusyError{Key: key, Remaining: claim.Remaining})
	case claim.Status == Done && string(claim.Result) != name:
		return fmt.Errorf("leat: consumer %s: %w", p.consumer, basis.OtherIDs(string(claim.Result), name, -1))
	}
	return nil
}

// Message is a message that Do runs once.
type Message struct {
	// ID is the message's id: any bytes. If it is longer than 1,024 bytes, or not text, it
	// is recorded by its SHA-256. Required.
	ID string
	// Fingerprint distinguishes different contents under one id; see the function Fingerprint.
	// Defaults to none: contents are not compared.
	Fingerprint string
}

// Result is the result of Do.
type Result struct {
	// Outcome is OutcomeRan, OutcomeDuplicate or OutcomeOpen if Do returns no
	// error.
	Outcome Outcome
	// Value is the handler's result, of this run or of the run that has completed, if the
	// store could keep it.
	Value []byte
}

// Do runs handle for m, unless m was done before. Its error is nil exactly if
// the message can be acknowledged.
//
// If the lease could not be extended in time, the context of handle ends with cause
// ErrLeaseLost. A handler that goes on regardless may have its effect twice. If handle
// fails or panics, the message is released at once.
//
// Errors: handle's own; ErrBusy (a *BusyError), ErrMismatch, ErrFenced, ErrNoID, and
// ErrUnavailable if the store failed: then the handler did not run, or it runs again.
func (p *Processor) Do(ctx context.Context, m Message, handle func(ctx context.Context) ([]byte, error)) (res Result, err error) {
	d := DeliveryEvent{Key: Key{Consumer: p.consumer, ID: m.ID}, Outcome: OutcomePanicked}
	began := time.Now()
	defer func() {
		d.Took, d.Err = time.Since(began), err
		p.observe(ctx, d)
	}()
	var value []byte
	value, err = p.do(ctx, &d, m, handle)
	if err != nil {
		err = fmt.Errorf("leat: consumer %s, message %.200q: %w", p.consumer, m.ID, err)
	}
	return Result{Outcome: d.Outcome, Value: value}, err
}

func (p *Processor) do(ctx context.Context, d *DeliveryEvent, m Message, handle func(ctx context.Context) ([]byte, error)) ([]byte, error) {
	if m.ID == "" {
		d.Outcome = OutcomeFailed
		return nil, ErrNoID
	}
	token, err := ids.New()
	if err != nil {
		d.Outcome = OutcomeFailed
		return nil, err
	}
	asked := time.Now()
	claim, err := p.claim(ctx, d.Key, Request{Token: token, Lease: p.cfg.Lease, Fingerprint: m.Fingerprint})
	if err != nil {
		return p.unavailable(ctx, d, err, handle)
	}
	d.Attempt, d.Takeover = claim.Attempt, claim.Takeover
	switch claim.Status {
	case Claimed:
		return p.run(ctx, d, token, asked, handle)
	case Done:
		d.Outcome = OutcomeDuplicate
		return claim.Result, nil
	case Busy:
		d.Outcome = OutcomeBusy
		p.delay(ctx, claim.Remaining)
		return nil, &BusyError{Key: d.Key, Remaining: claim.Remaining}
	case Mismatch:
		d.Outcome = OutcomeFailed
		return nil, ErrMismatch
	default:
		d.Outcome = OutcomeUnavailable
		return nil, fmt.Errorf("%w: it answered %s", ErrUnavailable, claim.Status)
	}
}

// claim asks the store once. After a lost answer the token is discarded, and the message waits
// for its lease to end.
func (p *Processor) claim(ctx context.Context, key Key, req Request) (Claim, error) {
	claim, err := p.store.Claim(ctx, key, req)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.DedupeClaimReplyLost)
	}
	return claim, err
}

// unavailable ends a delivery for which the store cannot be reached, or runs it without a claim
// (Config.FailOpen).
func (p *Processor) unavailable(
	ctx context.Context, d *DeliveryEvent, cause error, handle func(ctx context.Context) ([]byte, error),
) ([]byte, error) {
	if !p.cfg.FailOpen || ctx.Err() != nil {
		d.Outcome = OutcomeUnavailable
		p.delay(ctx, p.cfg.BusyDelay)
		return nil, fmt.Errorf("%w: claim: %w", ErrUnavailable, cause)
	}
	p.cfg.Logger.WarnContext(ctx, "handler runs without suppressing repeats, the store is unavailable",
		slog.String("consumer", p.consumer), slog.String("message_id", d.Key.ID), slog.Any("error", cause))
	value, err := handle(context.WithValue(ctx, runKey{}, Run{Key: d.Key, by: p}))
	d.Outcome = OutcomeOpen
	if err != nil {
		d.Outcome = OutcomeFailed
	}
	return value, err
}

// run calls the handler under the lease. If the handler does not succeed, the message is
// released, even if it panics or ends its goroutine; neither is caught.
func (p *Processor) run(
	ctx context.Context, d *DeliveryEvent, token string, asked time.Time, handle func(ctx context.Context) ([]byte, error),
) ([]byte, error) {
	inside := context.WithValue(ctx, runKey{}, Run{Key: d.Key, Token: token, Attempt: d.Attempt, Takeover: d.Takeover, by: p})
	held, r := p.hold(inside, d.Key, token, asked)
	returned := false
	defer func() {
		if !returned {
			r.end()
			p.release(ctx, d.Key, token)
		}
	}()
	value, err := handled(held, handle)
	returned = true
	lost := errors.Is(context.Cause(held), ErrLeaseLost)
	r.end()
	if err != nil {
		d.Outcome = OutcomeFailed
		if lost {
			err = fmt.Errorf("%w: %w", ErrLeaseLost, err)
		}
		p.release(ctx, d.Key, token)
		return nil, err
	}
	return value, p.complete(ctx, d, token, value)
}

// handled calls handle between the failpoints around it.
func handled(ctx context.Context, handle func(ctx context.Context) ([]byte, error)) ([]byte, error) {
	for _, point := range [...]failpoint.Name{failpoint.DedupeLoseP, failpoint.DedupeEvict, failpoint.DedupeClockJump} {
		if err := failpoint.Inject(ctx, point); err != nil {
			return nil, err
		}
	}
	value, err := handle(ctx)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.DedupePausePastLease)
	}
	return value, err
}

// complete ends a run that went well. It continues although the delivery's context has ended, since the
// effect exists.
func (p *Processor) complete(ctx context.Context, d *DeliveryEvent, token string, value []byte) error {
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.FinishTimeout)
	defer cancel()
	c, err := p.tell(finish, d.Key, token, value)
	if err != nil && finish.Err() == nil { // perhaps only the answer was lost: the same token can complete again
		c, err = p.tell(finish, d.Key, token, value)
	}
	d.Completion = c
	switch {
	case err != nil:
		d.Outcome, d.Completion = OutcomeUnavailable, 0
		return fmt.Errorf("%w: complete: %w", ErrUnavailable, err)
	case c == Fenced:
		d.Outcome = OutcomeFenced
		return ErrFenced
	case c == FencedDone, c == Late, c == Resurrected:
		p.cfg.Logger.WarnContext(ctx, "message completed out of turn",
			slog.String("consumer", p.consumer), slog.String("message_id", d.Key.ID), slog.String("completion", c.String()))
	}
	d.Outcome = OutcomeRan
	return failpoint.Inject(ctx, failpoint.DedupeLoseD)
}

// tell completes the message in the store, once.
func (p *Processor) tell(ctx context.Context, key Key, token string, value []byte) (Completion, error) {
	c, err := p.store.Complete(ctx, key, token, value)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.DedupeCompleteReplyLost)
	}
	return c, err
}

func (p *Processor) release(ctx context.Context, key Key, token string) {
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.cfg.FinishTimeout)
	defer cancel()
	if err := p.store.Release(finish, key, token); err != nil {
		p.cfg.Logger.WarnContext(ctx, "message not released, its lease will run out",
			slog.String("consumer", p.consumer), slog.String("message_id", key.ID), slog.Any("error", err))
	}
}

// delay waits BusyDelay, jittered by a quarter, but no longer than most.
func (p *Processor) delay(ctx context.Context, most time.Duration) {
	if p.cfg.BusyDelay <= 0 {
		return
	}
	d := jitter.Around(p.cfg.BusyDelay, 0.25)
	_ = wait.For(ctx, min(d, max(most, time.Millisecond)))
}

func (p *Processor) observe(ctx context.Context, d DeliveryEvent) {
	p.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "dedupe delivery",
		slog.String("consumer", d.Key.Consumer), slog.String("message_id", d.Key.ID),
		slog.String("outcome", d.Outcome.String()), slog.Duration("took", d.Took))
	hooks.Call(ctx, p.cfg.Logger, p.cfg.Hooks, func(h DeliveryHook) { h.OnDedupeDelivery(ctx, d) })
}

func isFenced(err error) bool {
	return errors.Is(err, ErrFenced)
}
