package inbox

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
)

// HandleEach returns Process with a handler of single messages, which is called for one
// after the other of those that share a transaction. Its ctx is the message's context and
// carries the transaction.
//
// It saves the commits and most of the claims, and takes one promise back that single
// deliveries keep: the failure of a message undoes its neighbours, so that they run again.
// While no handler fails, each is called once a message, as behind Process. If one fails,
// panics, marks its message for rollback or nacks it, those before it run again
// without it, it runs once more alone, and those after it go on: a message runs twice at
// most, however many fail, as long as it does the same each time. Conflicts with other
// transactions, a refused commit and an error of the transaction that a handler has
// swallowed come on top; then the messages run in halves.
//
// So the handler must keep nothing outside the transaction, and must not count its calls. It
// sees what its neighbours wrote before they commit, and one that is slow holds their rows
// locked for as long.
func (b *Batch) HandleEach(handle func(ctx context.Context, msg *message.Message) error) BatchFunc {
	each := func(_ context.Context, msgs []*message.Message) error {
		if len(msgs) == 1 { // Process has the last word, about a panic, too
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

// callEach runs the handler of one message, and returns why it must not be committed.
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
	// soon is within how many messages a failure is a sign of more to come.
	soon = 4
	// alone is how many messages then run in transactions of their own. It doubles each
	// time, up to 1,024.
	alone = 16
)

// around runs entries in parts around the one that has failed, and a few after it alone if
// failures seem to be frequent: then there is little to share, and what was claimed and run
// before each failure would be in vain.
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
