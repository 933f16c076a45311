package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
)

// unit claims the message, and runs it if it was claimed.
func (p *Processor) unit(ctx context.Context, d *delivery) (outcome Outcome, err error) {
	unit, status, err := p.claim(ctx, d)
	switch {
	case err != nil && (IsPermanent(err) || errors.Is(err, driver.ErrTooOld) || errors.Is(err, driver.ErrTooNew)):
		d.refused = true
		return OutcomeFailed, p.wrap("claim", d.id, err)
	case err != nil:
		driver.Reread(ctx, err)
		return OutcomeFailed, p.wrap("claim", d.id, fmt.Errorf("%w: %w", ErrNotClaimed, err))
	case status == driver.Claimed && unit != nil && !d.counted:
		// The attempt was not counted because the message was in progress. That has just ended.
		p.rollback(ctx, unit, d.id)
		fallthrough
	case status == driver.Busy:
		p.delay(ctx)
		return OutcomeBusy, p.wrap("claim", d.id, ErrBusy)
	case status == driver.Claimed && unit != nil:
		return p.run(ctx, unit, d)
	case status == driver.Duplicate:
		return OutcomeDuplicate, nil
	default:
		return OutcomeFailed, p.wrap("claim", d.id, errors.New("store answered "+status.String()))
	}
}

func (p *Processor) claim(ctx context.Context, d *delivery) (driver.Unit, driver.Status, error) {
	if d.claim != nil {
		return d.claim(ctx)
	}
	return p.store.Claim(ctx, d.id)
}

// run calls the handler in the unit's transaction and ends the unit. The
// rollback is deferred, so that it also happens when the handler panics or ends
// its goroutine; neither is caught.
// See rule B2.
func (p *Processor) run(ctx context.Context, unit driver.Unit, d *delivery) (Outcome, error) {
	committing := false
	defer func() {
		if !committing {
			p.rollback(ctx, unit, d.id)
		}
	}()

	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterClaim); err != nil {
		return OutcomeFailed, err
	}
	txCtx := &handlerContext{Context: unit.Context(ctx)}
	m := &txCtx.mark
	if err := within(txCtx, d.msg, d.call); err != nil { //nolint:contextcheck // as above
		return OutcomeFailed, err
	}
	err := errors.Join(failpoint.Inject(ctx, failpoint.ConsumerBeforeCommit), m.err(), unacked(d.msg), over(ctx))
	if err == nil {
		err = p.keep(txCtx, d) //nolint:contextcheck // as above
	}
	if err != nil {
		return OutcomeFailed, p.wrap("not committed", d.id, err)
	}
	committing = true // commit ends the unit, whatever it returns
	return p.commit(ctx, unit, d.id)
}

// keep stores the note for duplicates.
func (p *Processor) keep(ctx context.Context, d *delivery) error {
	if p.keeper == nil || d.id == "" {
		return nil
	}
	note := driver.Note{Fingerprint: d.fingerprint}
	if p.cfg.KeepReplies {
		note.Reply = d.reply
	}
	return p.keeper.Keep(ctx, d.id, note)
}

// commit ends the unit. A refused commit is an ordinary failure; one without an answer is not.
func (p *Processor) commit(ctx context.Context, unit driver.Unit, id string) (Outcome, error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	err := unit.Commit(finish)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.ConsumerCommitAmbiguous)
	}
	switch {
	case err == nil:
		return OutcomeCommitted, nil
	case errors.Is(err, driver.ErrDuplicate):
		return OutcomeDuplicate, nil
	case errors.Is(err, driver.ErrNotCommitted):
		return OutcomeFailed, p.wrap("commit", id, err)
	default:
		return OutcomeUnknown, p.wrap("commit", id, fmt.Errorf("%w: %w", ErrCommitUnknown, err))
	}
}

// over returns the cause if ctx has ended, or nil.
func over(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// within calls handle with ctx as its and the message's context. The message always gets its own
// context back: otherwise Watermill's Retry would use a transaction that has ended, and its
// PoisonQueue would publish with it.
// See rule B4.
func within(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) error {
	orig := msg.Context()
	defer msg.SetContext(orig) //nolint:contextcheck // that is the point
	msg.SetContext(ctx)
	return handle(ctx)
}

// unacked returns ErrAckedBeforeCommit if the message is already acked or nacked.
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
func (p *Processor) rollback(ctx context.Context, unit driver.Unit, id string) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	if err := unit.Rollback(finish); err != nil {
		p.warn(ctx, "roll back, the connection is given up", id, err)
	}
}

// finishing returns a context that outlives ctx by at most FinishTimeout.
// See design 12.6.
func (p *Processor) finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), p.cfg.FinishTimeout)
}
