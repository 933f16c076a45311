package inbox

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
)

// HandleEach returns Process with a handler of single messages, which is called one by one for
// the messages that share a transaction. Its ctx is the message's context and carries the
// transaction.
//
// It saves the commits and most of the claims, but breaks one promise of single deliveries: the
// failure of a message undoes its neighbours, so that they run again. While the handler does not
// fail, it is called once for each message, as behind Process. If it fails, panics, marks its
// message for rollback or nacks it, the messages before this one run again without it, it runs
// once more alone, and those after it continue. So a message runs twice at most, however many
// fail, as long as it does the same each time. Further runs come from conflicts with other
// transactions, from a refused commit, and from an error of the transaction that a handler has
// swallowed; then the messages run in halves.
//
// So the handler must keep nothing outside the transaction, and must not count its calls. It sees
// the uncommitted writes of its neighbours, and a slow message keeps their rows locked.
func (b *Batch) HandleEach(handle func(ctx context.Context, msg *message.Message) error) BatchFunc {
	each := func(_ context.Context, msgs []*message.Message) error {
		if len(msgs) == 1 { // Process decides, about a panic, too
			return handle(msgs[0].Context(), msgs[0]) //nolint:contextcheck // the message has one of its own
		}
		for i, msg := range msgs {
			if err := callEach(msg, handle); err != nil { //nolint:contextcheck // the message has one of its own
				return &MessageError{Index: i, Err: err}
			}
		}
		return nil
	}
	name := onehandler.BatchFunction(handle)
	return func(ctx context.Context, msgs []*message.Message) []error {
		c := b.newCall(each, len(msgs))
		c.each, c.handler = true, onehandler.From(ctx, b, name)
		return c.all(ctx, msgs)
	}
}

// callEach runs the handler of one message, and returns an error if it must not be committed.
func callEach(msg *message.Message, handle func(ctx context.Context, msg *message.Message) error) (err error) {
	ctx := msg.Context()
	if err := over(ctx); err != nil {
		return err
	}
	defer recovered(&err)
	if err := handle(ctx, msg); err != nil {
		return err
	}
	err = lent.Nacked(msg)
	if m, ok := ctx.Value(markKey{}).(*mark); ok {
		err = errors.Join(m.err(), err)
	}
	return err
}

const (
	// soon is the number of messages within which a failure suggests that more will follow.
	soon = 4
	// alone is the number of messages that then run in transactions of their own. It doubles each
	// time, up to 1,024.
	alone = 16
)

// around runs entries in parts around the one that has failed. If failures seem to be frequent,
// it runs a few after it alone: otherwise each failure would undo the claims and runs before it.
func (c *batchCall) around(ctx context.Context, entries []batchEntry, failed int) {
	c.group(ctx, entries[:failed])
	c.group(ctx, entries[failed:failed+1])
	rest := entries[failed+1:]
	if failed < soon {
		n := min(alone<<min(c.early, 6), len(rest))
		c.early++
		for _, e := range rest[:n] {
			c.single(ctx, e)
		}
		rest = rest[n:]
	}
	c.group(ctx, rest)
}
