package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
)

// run calls the handler in the unit's transaction and ends the unit. The rollback
// is deferred, so that it also happens when the handler ends its goroutine.
func (c *batchCall) run(ctx context.Context, unit driver.Unit, fresh []batchEntry) (Outcome, error) {
	committing := false
	defer func() {
		if !committing {
			c.rollback(ctx, unit)
		}
	}()
	if err := failpoint.Inject(ctx, failpoint.ConsumerAfterClaim); err != nil {
		return OutcomeFailed, err
	}
	m := &mark{}
	if err := c.call(ctx, unit, m, fresh); err != nil {
		return OutcomeFailed, err
	}
	err := errors.Join(failpoint.Inject(ctx, failpoint.ConsumerBeforeCommit), m.err(), over(ctx))
	for i, e := range fresh {
		if settled := errors.Join(unacked(e.msg), over(e.msg.Context())); settled != nil { //nolint:contextcheck // the message has one of its own
			err = errors.Join(err, &MessageError{Index: i, Err: settled})
		}
	}
	if err != nil {
		return OutcomeFailed, err
	}
	committing = true // which ends the unit, whatever comes of it
	return c.commit(ctx, unit)
}

// call runs the handler with the transaction in its context and in that of each
// message. Each gets its own back in any case.
func (c *batchCall) call(ctx context.Context, unit driver.Unit, m *mark, fresh []batchEntry) (err error) {
	defer recovered(&err)
	msgs := make([]*message.Message, len(fresh))
	for i, e := range fresh {
		msgs[i] = e.msg
		orig := e.msg.Context()
		defer e.msg.SetContext(orig)                                                              //nolint:contextcheck // the message has one of its own
		e.msg.SetContext(context.WithValue(unit.Context(joinedContext{ctx, orig}), markKey{}, m)) //nolint:contextcheck // the message has one of its own
	}
	return c.handle(context.WithValue(unit.Context(ctx), markKey{}, m), msgs)
}

// recovered makes a panic the error.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}

// commit ends the unit. A refused commit is a failure like another; one without
// an answer is not.
func (c *batchCall) commit(ctx context.Context, unit driver.Unit) (Outcome, error) {
	finish, cancel := c.p.finishing(ctx)
	defer cancel()
	err := unit.Commit(finish)
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.ConsumerCommitAmbiguous)
	}
	switch {
	case err == nil:
		return OutcomeCommitted, nil
	case errors.Is(err, driver.ErrNotCommitted):
		return OutcomeFailed, err
	default:
		return OutcomeUnknown, fmt.Errorf("%w: %w", ErrCommitUnknown, err)
	}
}

// rollback ends the unit, if there is one. It reports an error and goes on:
// whatever went wrong, the transaction will not commit.
func (c *batchCall) rollback(ctx context.Context, unit driver.Unit) {
	if unit == nil {
		return
	}
	finish, cancel := c.p.finishing(ctx)
	defer cancel()
	if err := unit.Rollback(finish); err != nil {
		c.p.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox rollback of a batch failed, the connection is given up",
			slog.String("consumer", c.p.consumer), slog.Any("error", err))
	}
}

// single hands a message to Process, which has the last word about it.
func (c *batchCall) single(ctx context.Context, e batchEntry) {
	if len(c.runnable(ctx, []batchEntry{e})) == 0 {
		return
	}
	var (
		outcome Outcome
		err     error
	)
	func() {
		defer recovered(&err)
		outcome, err = c.p.Process(joinedContext{ctx, e.msg.Context()}, e.msg, func(ctx context.Context) error { //nolint:contextcheck // the message has one of its own
			err := c.handle(ctx, []*message.Message{e.msg})
			if named, ok := err.(*MessageError); ok { //nolint:errorlint // inside another it is part of the text
				return named.Err
			}
			return err
		})
	}()
	c.note(e, err)
	if _, found := c.parked[e.key]; outcome == OutcomeParked && !found {
		c.parked[e.key] = e.place // what follows of the key is to be stored behind it
	}
}

// joinedContext ends with the one context, and has the values of both.
type joinedContext struct {
	context.Context //nolint:containedctx // it is one

	values context.Context //nolint:containedctx // it is one
}

// Value implements context.Context.
func (c joinedContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
