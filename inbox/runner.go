package inbox

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Runner runs a handler once for each message. *Processor is a Runner, and so are types that
// embed it, such as *pginbox.Inbox.
type Runner interface {
	// Process has the contract of Processor.Process.
	Process(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (Outcome, error)
}

var _ Runner = (*Processor)(nil)
