package inbox

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Runner runs a handler once for each message. *Processor and all that embed it are
// one, such as *pginbox.Inbox.
type Runner interface {
	// Process is Processor's.
	Process(ctx context.Context, msg *message.Message, handle func(ctx context.Context) error) (Outcome, error)
}

var _ Runner = (*Processor)(nil)
