package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/lent"
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
	own := make([]lent.Message, len(fresh))
	outcome := OutcomeFailed
	defer func() {
		for i := range own {
			own[i].Settle(outcome == OutcomeCommitted)
		}
	}()
	m := &mark{}
	if err := c.call(ctx, unit, m, fresh, own); err != nil {
		return outcome, err
	}
	err := errors.Join(failpoint.Inject(ctx, failpoint.ConsumerBeforeCommit), m.err(), over(ctx))
	for i, e := range fresh {
		if settled := errors.Join(unacked(e.msg), own[i].Nacked(), over(e.msg.Context())); settled != nil { //nolint:contextcheck // the message has one of its own
			err = errors.Join(err, &MessageError{Index: i, Err: settled})
		}
	}
	if err != nil {
		return outcome, err
	}
	committing = true // commit ends the unit, whatever it returns
	outcome, err = c.commit(ctx, unit)
	return outcome, err
}

// call runs the handler with the transaction in its context and in those of the messages. The
// handler gets its own copies of the fresh messages.
func (c *batchCall) call(ctx context.Context, unit driver.Unit, m *mark, fresh []batchEntry, own []lent.Message) (err error) {
	defer recovered(&err)
	msgs := make([]*message.Message, len(fresh))
	for i, e := range fresh {
		own[i] = lent.Of(e.msg)
		msgs[i] = own[i].Lend(context.WithValue(unit.Context(joinedContext{ctx, e.msg.Context()}), markKey{}, m)) //nolint:contextcheck // the message has one of its own
		defer own[i].Return()
	}
	return c.handle(context.WithValue(unit.Context(ctx), markKey{}, m), msgs)
}

// recovered turns a panic into the error.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = panicked(v)
	}
}

// commit ends the unit. A refused commit is an ordinary failure; one without an answer is not.
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

// single passes a message to Process, which decides about it.
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
		own := lent.Of(e.msg)
		defer own.Settle(false)
		outcome, err = c.p.Process(joinedContext{ctx, e.msg.Context()}, e.msg, func(ctx context.Context) error { //nolint:contextcheck // the message has one of its own
			return own.To(ctx, func(msg *message.Message) error {
				err := c.handle(ctx, []*message.Message{msg})
				if named, ok := err.(*MessageError); ok { //nolint:errorlint // inside another it is only text
					return named.Err
				}
				return err
			})
		})
		own.Settle(err == nil)
	}()
	c.note(e, err)
	if isOutage(err) {
		c.outage = err
	}
	if _, found := c.parked[e.key]; outcome == OutcomeParked && !found {
		c.parked[e.key] = e.place // later messages of the key must be stored behind it
	}
}

// joinedContext ends with the embedded context, and has the values of both.
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
