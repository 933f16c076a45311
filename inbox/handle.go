package inbox

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/lent"
	"github.com/leat-go/leat/internal/onehandler"
)

// Handle wraps one handler, for a consumer that has no router or only one handler behind the
// inbox. The result returns nil exactly if msg can be acknowledged; see Process. Ctx, which is
// msg.Context() as well, carries the transaction: Tx of the store's package returns it. The
// message is the handler's own copy: Ack does nothing, and Nack makes the delivery fail.
//
// An inbox remembers the messages of one handler. If Handle is given another function for the
// same inbox, all messages of both fail with ErrTwoHandlers. Closures made by the same line of
// code cannot be distinguished.
func (p *Processor) Handle(handle func(ctx context.Context, msg *message.Message) error) message.NoPublishHandlerFunc {
	name := onehandler.Function(handle)
	return func(msg *message.Message) error {
		if message.HandlerNameFromCtx(msg.Context()) == "" {
			if err := p.OneHandler(name); err != nil {
				return err
			}
		}
		own := lent.Of(msg)
		defer own.Settle(false)
		_, err := p.Process(msg.Context(), msg, func(ctx context.Context) error {
			return own.To(ctx, func(msg *message.Message) error { return handle(ctx, msg) })
		})
		own.Settle(err == nil)
		return err
	}
}
