package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

var errWrongResults = errors.New("leat: batch function returned another number of results than it got messages")

// Batcher reads messages from a Watermill subscriber, hands them to a BatchFunc
// several at a time, and acknowledges each that is done. It needs no router, and
// the middleware of one does not apply.
//
// It gathers what the subscriber has in flight. Most of Watermill's subscribers keep one message
// in flight for each partition or subscription. A batch then has one message of each partition
// that has any; with a single partition it has a single message, after MaxDelay. A quiet topic
// looks the same, so it is not an error.
//
// Refused messages are delivered again in the order that the subscriber chooses. If keys must
// keep their order, that must be the order of the first delivery.
type Batcher struct {
	process BatchFunc
	cfg     BatcherConfig
}

// NewBatcher returns a Batcher for process, such as Batch.Handle returns. Errors
// wrap outbox.ErrInvalidConfig.
func NewBatcher(process BatchFunc, cfg BatcherConfig) (*Batcher, error) {
	if process == nil {
		return nil, outbox.ConfigError("process", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Batcher{process: process, cfg: cfg}, nil
}

// Run subscribes to topic and processes its messages, one batch after the other, until ctx ends
// or the subscriber closes the subscription. It returns nil in either case, and an error if it
// cannot subscribe. When it returns, each message that it received is acknowledged or refused.
// The caller closes the subscriber.
//
// Several calls may run at a time, on a subscription each; a Batcher has no state.
func (b *Batcher) Run(ctx context.Context, subscriber message.Subscriber, topic string) error {
	subscription, cancel := context.WithCancel(ctx)
	defer cancel()
	messages, err := subscriber.Subscribe(subscription, topic)
	if err != nil {
		return fmt.Errorf("leat: subscribe to %s: %w", topic, err)
	}
	working, done := b.draining(ctx)
	defer done()
	for {
		batch, open := b.collect(ctx, messages)
		b.settle(working, batch)
		if !open || ctx.Err() != nil {
			break
		}
	}
	cancel()
	for msg := range messages { // until the subscriber notices that ctx has ended
		msg.Nack()
	}
	return nil
}

// draining returns a context that ends DrainTimeout after ctx.
func (b *Batcher) draining(ctx context.Context) (context.Context, context.CancelFunc) {
	working, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-stop:
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(b.cfg.DrainTimeout)
		defer timer.Stop()
		select {
		case <-stop:
		case <-timer.C:
			cancel(context.Cause(ctx))
		}
	}()
	return working, func() {
		close(stop)
		<-ended
		cancel(nil)
	}
}

// collect waits for a message, and then for more until there are enough or MaxDelay is over. It
// returns false if no more messages will come.
func (b *Batcher) collect(ctx context.Context, messages <-chan *message.Message) (batch []*message.Message, open bool) {
	var timeout <-chan time.Time
	for len(batch) < b.cfg.MaxMessages {
		select {
		case msg, open := <-messages:
			if !open {
				return batch, false
			}
			if batch = append(batch, msg); timeout == nil {
				timer := time.NewTimer(b.cfg.MaxDelay)
				defer timer.Stop()
				timeout = timer.C
			}
		case <-timeout:
			return batch, true
		case <-ctx.Done():
			return batch, true
		}
	}
	return batch, true
}

// settle processes a batch and acknowledges or refuses each message of it, in
// order.
func (b *Batcher) settle(ctx context.Context, batch []*message.Message) {
	if len(batch) == 0 {
		return
	}
	errs := b.process(ctx, batch)
	err := failpoint.Inject(ctx, failpoint.ConsumerAfterCommitBeforeAck)
	if len(errs) != len(batch) {
		err = errWrongResults
	}
	var failed []*message.Message
	for i, msg := range batch {
		if err == nil && errs[i] == nil {
			msg.Ack()
			continue
		}
		failed = append(failed, msg)
		cause := err
		if cause == nil {
			cause = errs[i]
		}
		b.cfg.Logger.LogAttrs(ctx, batchLevel(cause), "message of a batch is refused, it will come again",
			slog.String("message_uuid", msg.UUID), slog.Any("error", cause))
	}
	if len(failed) == 0 {
		return
	}
	_ = wait.For(ctx, b.cfg.RetryDelay)
	for _, msg := range failed {
		msg.Nack()
	}
}

// batchLevel returns the log level of a message's error: another delivery in progress is not an
// error.
func batchLevel(err error) slog.Level {
	if errors.Is(err, ErrBusy) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}
