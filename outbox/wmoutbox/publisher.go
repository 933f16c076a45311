package wmoutbox

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

var _ message.Publisher = (*Publisher)(nil)

// Publisher is a Watermill publisher that enqueues in the transaction of the
// messages' context. One serves a whole process; its methods may be called
// concurrently.
type Publisher struct {
	ob     outbox.Enqueuer
	key    outbox.KeyFunc
	txFrom func(ctx context.Context) (tx any, ok bool)
}

// NewPublisher returns a publisher that enqueues in ob. It returns an error that
// wraps outbox.ErrInvalidConfig if ob is nil.
func NewPublisher(ob outbox.Enqueuer, cfg Config) (*Publisher, error) {
	if ob == nil {
		return nil, outbox.ConfigError("ob", nil, "must be an outbox")
	}
	return &Publisher{ob: ob, key: cfg.withDefaults().Key, txFrom: cfg.TxFrom}, nil
}

// Publish enqueues msgs for topic in the transaction that their context carries (see
// Config.TxFrom), all of them or none. Nothing is published until that transaction has committed.
// Publish does not wake relays, see outbox.Enqueuer.Wake.
//
// The UUID of a message becomes its id (an empty one is replaced by a new
// UUIDv7), its metadata the headers, see outbox.FromWatermill. The context of the first
// message bounds the call, and its trace is stored.
//
// It returns outbox.ErrNotInTransaction if a message carries no transaction, an error if two
// carry different ones, one that wraps outbox.ErrInvalidMessage if one cannot be stored, and
// otherwise the outbox's error. A call without messages does nothing.
func (p *Publisher) Publish(topic string, msgs ...*message.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	tx, err := p.sameTransaction(topic, msgs)
	if err != nil {
		return err
	}
	batch, err := convert(topic, msgs, p.key)
	if err != nil {
		return err
	}
	ctx := msgs[0].Context()
	if p.txFrom != nil {
		ctx = txctx.With(ctx, tx)
	}
	if err := p.ob.EnqueueContext(ctx, batch...); err != nil {
		return fmt.Errorf("enqueue %s for topic %.200q: %w", describe(msgs), topic, err)
	}
	return nil
}

// Close does nothing. A router closes the publishers of its handlers, but this one is shared and
// owns nothing.
func (p *Publisher) Close() error {
	return nil
}

// tx returns the transaction that ctx carries, or nil.
func (p *Publisher) tx(ctx context.Context) any {
	if p.txFrom != nil {
		if tx, ok := p.txFrom(ctx); ok && tx != nil {
			return tx
		}
	}
	return txctx.From(ctx)
}

// sameTransaction returns the transaction that every message carries, if it is one and the same.
// A savepoint is a different transaction from the one around it.
func (p *Publisher) sameTransaction(topic string, msgs []*message.Message) (tx any, err error) {
	for i, msg := range msgs {
		if msg == nil {
			return nil, nilMessage(i)
		}
		own := p.tx(msg.Context())
		if own == nil {
			return nil, fmt.Errorf("message %.200q for topic %.200q: %w: its context carries none",
				msg.UUID, topic, outbox.ErrNotInTransaction)
		}
		if i == 0 {
			tx = own
		}
		if msg.Context() != msgs[0].Context() && !same(tx, own) {
			return nil, fmt.Errorf("messages %.200q and %.200q for topic %.200q: %w",
				msgs[0].UUID, msg.UUID, topic, errMixedTransactions)
		}
	}
	return tx, nil
}

// same compares by identity. A transaction of a type that Go cannot compare is the
// same only within one context.
func same(x, y any) bool {
	return reflect.ValueOf(x).Comparable() && reflect.ValueOf(y).Comparable() && x == y
}

func describe(msgs []*message.Message) string {
	if len(msgs) == 1 {
		return fmt.Sprintf("message %.200q", msgs[0].UUID)
	}
	return fmt.Sprintf("%d messages from %.200q", len(msgs), msgs[0].UUID)
}
