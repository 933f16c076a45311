package inbox

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/failpoint"
)

// delivery is one delivery on its way through a Processor. One goroutine uses it.
type delivery struct {
	msg    *message.Message
	handle func(ctx context.Context) error
	answer func(ctx context.Context) ([]byte, error) // instead of handle, if the handler returns a reply

	// claim, if set, opens the unit instead of a claim of the message's id.
	claim func(ctx context.Context) (driver.Unit, driver.Status, error)
	// counted is set if the handler may run: attempts are not counted, or this one already is.
	counted bool

	// refused is set if the store refuses the message itself: its id cannot be
	// recorded.
	refused bool

	id          string
	topic       string
	key         driver.Key
	attempt     int // number of the attempt, 0 if it is not counted
	fingerprint []byte
	reply       []byte
}

func (p *Processor) newDelivery(msg *message.Message, handle func(ctx context.Context) error) *delivery {
	return &delivery{msg: msg, handle: handle, counted: p.attempts == nil}
}

// identify finds the message's id, key and the like. It returns ErrNoMessageID last, when
// everything else is known.
func (p *Processor) identify(ctx context.Context, d *delivery) (err error) {
	if err := p.handlers.Check(message.HandlerNameFromCtx(ctx)); err != nil {
		return err
	}
	if err := p.sameIDs(ctx); err != nil {
		return err
	}
	if d.id, err = p.cfg.IDFrom.Find(d.msg); err != nil {
		return err
	}
	d.topic = message.SubscribeTopicFromCtx(ctx)
	if p.attempts != nil {
		if err := p.findKey(d); err != nil {
			return err
		}
	}
	if p.cfg.Fingerprint != nil {
		if d.fingerprint, err = p.cfg.Fingerprint(d.msg); err != nil {
			return fmt.Errorf("fingerprint of message %.200q: %w", d.id, err)
		}
	}
	if d.id == "" {
		return ErrNoMessageID
	}
	return nil
}

// findKey finds the message's ordering key.
func (p *Processor) findKey(d *delivery) error {
	name, err := p.cfg.KeyFunc(d.topic, d.msg)
	if err != nil {
		return fmt.Errorf("key of message %.200q: %w", d.id, err)
	}
	d.key = driver.Key{Topic: d.topic, Name: name}
	return nil
}

// call runs the handler.
func (d *delivery) call(ctx context.Context) (err error) {
	if err := failpoint.Inject(ctx, failpoint.ConsumerPanic); err != nil {
		return err
	}
	if d.answer != nil {
		d.reply, err = d.answer(ctx)
	} else {
		err = d.handle(ctx)
	}
	if err != nil {
		return err
	}
	return failpoint.Inject(ctx, failpoint.ConsumerMidHandler)
}
