package dedupe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/wait"
)

// stepKept starts the stored result of a step, so that an empty one can be told
// from one that the store could not keep.
const stepKept = '='

// stepPoll bounds the wait between two looks at a step that another run holds.
const stepPoll = 100 * time.Millisecond

// StepCall is what a step can pass to the system that it calls.
type StepCall struct {
	// IdempotencyKey is a UUID that depends on the message, the consumer and the
	// step's name alone: every call of the step has the same one.
	IdempotencyKey string

	// Fence counts the runs of the message, from 1, and only grows while the store
	// keeps the message's record: a fencing token for a far side that refuses lower
	// ones. 0 if the run is not that of a Processor, or has no claim.
	Fence int

	// Again is set if an earlier call was started: its effect may have happened.
	Again bool
}

// Step runs fn as a part of the message that is being processed, and keeps its result: a
// later run of the message gets the same value, and fn is not called again. Names
// distinguish the steps of a message and must not change.
//
//	receipt, err := dedupe.Step(ctx, "charge", func(ctx context.Context, call dedupe.StepCall) ([]byte, error) {
//		return payments.Charge(ctx, order.Amount, call.IdempotencyKey)
//	})
//
// If fn fails or panics, the step is not done. If the process dies in fn, before its value is
// stored, fn is called again with the same IdempotencyKey: a system that supports such keys then
// has the effect once. The same happens if the store knows that the step is done but could not
// keep its value, because it was too large or the memory was full.
//
// The context must be that of a handler of Do; otherwise Step returns an error. Steps
// with different names may run concurrently; of the same name one runs and the others
// wait. Errors are fn's and those of Do, except ErrBusy.
func Step(ctx context.Context, name string, fn func(ctx context.Context, call StepCall) ([]byte, error)) ([]byte, error) {
	r, ok := FromContext(ctx)
	if !ok || r.by == nil {
		return nil, errNoStep
	}
	return r.by.Step(ctx, r.Key.ID, name, fn)
}

// Step is the function Step for the message called parent, for handlers that are not run
// by Do, such as those of an inbox. The record is in the store and not part of any
// transaction of the caller: a rollback undoes neither what a step has done outside nor
// the step.
func (p *Processor) Step(
	ctx context.Context, parent, name string, fn func(ctx context.Context, call StepCall) ([]byte, error),
) ([]byte, error) {
	if parent == "" {
		return nil, ErrNoID
	}
	if name == "" {
		return nil, errNoStep
	}
	owner := parent // id of the record that the step belongs to
	if p != p.steps {
		owner = messageRecord(parent)
	}
	call := StepCall{IdempotencyKey: ids.Child(owner, p.consumer, name)}
	if r, ok := FromContext(ctx); ok && r.Key == (Key{Consumer: p.consumer, ID: parent}) {
		call.Fence = r.Attempt
	}
	value, err := p.steps.step(ctx, call, fn)
	if err != nil {
		return nil, fmt.Errorf("leat: consumer %s, message %.200q, step %.200q: %w", p.consumer, parent, name, err)
	}
	return value, nil
}

// step waits while the step is held: by an abandoned run, until its lease is over, or by another
// goroutine of this run.
// See rule B9 and design 17.3.
func (p *Processor) step(
	ctx context.Context, call StepCall, fn func(ctx context.Context, call StepCall) ([]byte, error),
) ([]byte, error) {
	id := stepPrefix + call.IdempotencyKey
	for {
		d := DeliveryEvent{Key: Key{Consumer: p.consumer, ID: id}}
		value, err := p.do(ctx, &d, Message{ID: id}, func(ctx context.Context) ([]byte, error) {
			if r, ok := FromContext(ctx); ok {
				call.Again = r.Attempt > 1
			}
			value, err := fn(ctx, call)
			return append([]byte{stepKept}, value...), err
		})
		busy, isBusy := errors.AsType[*BusyError](err)
		switch {
		case isBusy && busy.Key.ID == id:
			if err := wait.For(ctx, min(busy.Remaining, stepPoll)); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		case len(value) == 0:
			call.Again = true
			return fn(ctx, call)
		default:
			return value[1:], nil
		}
	}
}
