package inbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/lent"
)

// giveUp does what the policy says, in a context that outlives the delivery's: the
// last attempt may have run out of time.
func (p *Processor) giveUp(ctx context.Context, d *delivery, cause error, h driver.History) (Outcome, error) {
	if d.refused {
		return p.giveUpAs(ctx, d, ChildID(d.id, p.consumer, "refused"), cause, h)
	}
	return p.giveUpAs(ctx, d, d.id, cause, h)
}

// giveUpAs is giveUp that records id instead of the message's own.
// See design 13.2.
func (p *Processor) giveUpAs(ctx context.Context, d *delivery, id string, cause error, h driver.History) (Outcome, error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	reason := attemptError(cause).Error
	switch p.cfg.OnFailure.Action {
	case Block:
		return OutcomeFailed, cause
	case Park:
		outcome, _, err := p.park(finish, d, driver.ParkRequest{ID: id, Reason: reason, History: h}, cause)
		return outcome, err
	case DeadLetter:
		return p.deadLetter(finish, d, driver.ParkRequest{ID: id, Reason: reason, History: h}, cause)
	default:
		own := lent.Of(d.msg)
		defer own.Settle(false)
		outcome, err := p.instead(finish, d, id, OutcomeGivenUp, cause, func(ctx context.Context) error {
			return own.To(ctx, func(msg *message.Message) error {
				return p.cfg.OnFailure.Handle(ctx, Failure{
					Message: msg, ID: d.id, Topic: d.topic, Key: d.key.Name, Err: cause, History: h,
				})
			})
		})
		own.Settle(err == nil)
		return outcome, err
	}
}

// follow stores a message whose key is parked, and returns false if the key is not.
func (p *Processor) follow(ctx context.Context, d *delivery) (Outcome, bool, error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	return p.park(finish, d, driver.ParkRequest{ID: d.id, Behind: true}, nil)
}

func (p *Processor) park(ctx context.Context, d *delivery, req driver.ParkRequest, cause error) (Outcome, bool, error) {
	req.MessageID, req.Key, req.Message = d.id, d.key, d.msg
	status, err := p.parker.Park(ctx, req)
	switch {
	case err != nil:
		return OutcomeFailed, true, p.notGivenUp(d, cause, err)
	case status == driver.Claimed:
		return OutcomeParked, true, nil
	case status == driver.Duplicate:
		return OutcomeDuplicate, true, nil
	case status == driver.Busy:
		p.delay(ctx)
		return OutcomeBusy, true, p.wrap("park", d.id, ErrBusy)
	case status == driver.NotBehind && req.Behind:
		return 0, false, nil
	default:
		return OutcomeFailed, true, p.notGivenUp(d, cause, fmt.Errorf("store answered %s", status))
	}
}

// instead runs work instead of the handler, in the same kind of transaction.
func (p *Processor) instead(
	ctx context.Context, d *delivery, id string, outcome Outcome, cause error, work func(ctx context.Context) error,
) (Outcome, error) {
	sub := p.newDelivery(d.msg, work)
	sub.id, sub.counted = id, true
	got, err := p.units(driver.WithGivingUp(ctx), sub)
	switch {
	case got == OutcomeCommitted:
		if d.attempt > 0 {
			p.attempts.Settle(d.id)
		}
		if p.cfg.OnFailure.Outbox != nil {
			p.cfg.OnFailure.Outbox.Wake()
		}
		return outcome, nil
	case err != nil:
		return got, p.notGivenUp(d, cause, err)
	default:
		return got, nil
	}
}

func (p *Processor) notGivenUp(d *delivery, cause, err error) error {
	return p.wrap("give up", d.id, errors.Join(ErrNotGivenUp, err, cause))
}

// strange returns the id to record for a message that must not be confused with the processed
// message of the same id. It is the same for each of its copies.
func (p *Processor) strange(d *delivery) string {
	return ChildID(d.id, p.consumer, "mismatch "+hex.EncodeToString(d.fingerprint))
}

// nameless returns the id to record for a message that has none: its position, or if it has no
// position either, a new id for each delivery.
func nameless(ctx context.Context) (string, error) {
	if at, ok := driver.PositionFrom(ctx); ok {
		return fmt.Sprintf("position %s/%d/%d", at.Source, at.Partition, at.Offset), nil
	}
	return ids.New()
}
