package inbox

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// Headers that a dead letter carries beside the message's own.
const (
	// HeaderDeadConsumer is the name of the consumer that gave the message up.
	HeaderDeadConsumer = "leat_dead_consumer"
	// HeaderDeadID is the message's own id. The dead letter has another, which is a
	// function of it and the consumer: two consumers may give up one message.
	HeaderDeadID = "leat_dead_id"
	// HeaderDeadTopic is the topic that the message was read from.
	HeaderDeadTopic = "leat_dead_topic"
	// HeaderDeadReason is the text of the last error.
	HeaderDeadReason = "leat_dead_reason"
	// HeaderDeadAttempts is the number of attempts.
	HeaderDeadAttempts = "leat_dead_attempts"
	// HeaderDeadFirst and HeaderDeadLast are the times of the first and the last
	// attempt, as RFC 3339 in UTC.
	HeaderDeadFirst = "leat_dead_first"
	HeaderDeadLast  = "leat_dead_last"
)

// giveUp does what the policy says, in a context that outlives the delivery's: the
// last attempt may have run out of time.
func (p *Processor) giveUp(ctx context.Context, d *delivery, cause error, h History) (Outcome, error) {
	if d.refused {
		return p.giveUpAs(ctx, d, ChildID(d.id, p.consumer, "refused"), cause, h)
	}
	return p.giveUpAs(ctx, d, d.id, cause, h)
}

// giveUpAs records id instead of the message's own.
func (p *Processor) giveUpAs(ctx context.Context, d *delivery, id string, cause error, h History) (Outcome, error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	reason := attemptError(cause).Error
	switch p.cfg.OnFailure.Action {
	case Block:
		return OutcomeFailed, cause
	case Park:
		outcome, _, err := p.park(finish, d, ParkRequest{ID: id, Reason: reason, History: h}, cause)
		return outcome, err
	case DeadLetter:
		return p.deadLetter(finish, d, ParkRequest{ID: id, Reason: reason, History: h}, cause)
	default:
		return p.instead(finish, d, id, OutcomeGivenUp, cause, func(ctx context.Context) error {
			return p.cfg.OnFailure.Handle(ctx, Failure{
				Message: d.msg, ID: d.id, Topic: d.topic, Key: d.key.Name, Err: cause, History: h,
			})
		})
	}
}

// follow stores a message whose key is parked. It is false if the key is not.
func (p *Processor) follow(ctx context.Context, d *delivery) (Outcome, bool, error) {
	finish, cancel := p.finishing(ctx)
	defer cancel()
	return p.park(finish, d, ParkRequest{ID: d.id, Behind: true}, nil)
}

func (p *Processor) park(ctx context.Context, d *delivery, req ParkRequest, cause error) (Outcome, bool, error) {
	req.MessageID, req.Key, req.Message = d.id, d.key, d.msg
	status, err := p.parker.Park(ctx, req)
	switch {
	case err != nil:
		return OutcomeFailed, true, p.notGivenUp(d, cause, err)
	case status == ParkStored:
		return OutcomeParked, true, nil
	case status == ParkDuplicate:
		return OutcomeDuplicate, true, nil
	case status == ParkBusy:
		p.delay(ctx)
		return OutcomeBusy, true, p.wrap("park", d.id, ErrBusy)
	case status == ParkNotBehind && req.Behind:
		return 0, false, nil
	default:
		return OutcomeFailed, true, p.notGivenUp(d, cause, fmt.Errorf("store answered ParkStatus(%d)", status))
	}
}

type givingUpKey struct{}

// GivingUp says whether a claim with ctx is for giving a message up: in its
// transaction nothing of the handler may happen. It matters to a Store that runs
// statements of the handler with the claim.
func GivingUp(ctx context.Context) bool {
	yes, _ := ctx.Value(givingUpKey{}).(bool)
	return yes
}

// instead runs work in the place of the handler, under the rules of one.
func (p *Processor) instead(
	ctx context.Context, d *delivery, id string, outcome Outcome, cause error, work func(ctx context.Context) error,
) (Outcome, error) {
	sub := p.newDelivery(d.msg, func(ctx context.Context) ([]byte, error) { return nil, work(ctx) })
	sub.id, sub.counted = id, true
	got, err := p.units(context.WithValue(ctx, givingUpKey{}, true), sub)
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

// deadLetter enqueues the dead letter. A message that no outbox takes (it is too large,
// or its key, type or metadata are no texts of the database) is parked instead, since it
// would come again for ever: the store takes any bytes.
func (p *Processor) deadLetter(ctx context.Context, d *delivery, req ParkRequest, cause error) (Outcome, error) {
	var refused error
	outcome, err := p.instead(ctx, d, req.ID, OutcomeDeadLettered, cause, func(ctx context.Context) error {
		err := p.bury(ctx, d, req.Reason, req.History)
		if errors.Is(err, outbox.ErrInvalidMessage) {
			refused = err
		}
		return err
	})
	if err == nil || refused == nil || p.parker == nil {
		return outcome, err
	}
	req.Reason = attemptError(fmt.Errorf("%w; no dead letter: %w", cause, refused)).Error
	outcome, _, err = p.park(ctx, d, req, cause)
	return outcome, err
}

// bury enqueues the dead letter.
func (p *Processor) bury(ctx context.Context, d *delivery, reason string, h History) error {
	policy := p.cfg.OnFailure
	letter, err := outbox.FromWatermill(policy.Topic, d.msg, func(string, *message.Message) (string, error) { return d.key.Name, nil })
	if err != nil {
		return err
	}
	headers := map[string]string{
		HeaderDeadConsumer: p.consumer, HeaderDeadID: d.id, HeaderDeadTopic: d.topic,
		HeaderDeadReason: reason, HeaderDeadAttempts: strconv.Itoa(h.Attempts),
	}
	if !h.First.IsZero() {
		headers[HeaderDeadFirst] = h.First.UTC().Format(time.RFC3339Nano)
		headers[HeaderDeadLast] = h.Last.UTC().Format(time.RFC3339Nano)
	}
	if letter.Headers == nil {
		letter.Headers = headers
	} else {
		maps.Copy(letter.Headers, headers)
	}
	letter.NotBefore = time.Time{}
	letter.ID = "" // a message without an id gets a new one
	if d.id != "" {
		letter.ID = ChildID(d.id, p.consumer, "dead letter "+hex.EncodeToString(d.fingerprint))
	}
	return policy.Outbox.EnqueueContext(ctx, letter)
}

// strange returns the id to record for a message that must not be taken for the
// one whose id it bears: the same for each of its copies.
func (p *Processor) strange(d *delivery) string {
	return ChildID(d.id, p.consumer, "mismatch "+hex.EncodeToString(d.fingerprint))
}

// nameless returns the id to record for a message that has none: its position,
// or where it has none either, a new one for each delivery.
func nameless(ctx context.Context) (string, error) {
	if at, ok := PositionFrom(ctx); ok {
		return fmt.Sprintf("position %s/%d/%d", at.Source, at.Partition, at.Offset), nil
	}
	return ids.New()
}
