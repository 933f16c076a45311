package dynamoinbox

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/dynamooutbox"
)

// Inbox is a Processor on DynamoDB; see inbox.Processor. It is safe for concurrent use.
type Inbox struct {
	*inbox.Processor

	ob     *dynamooutbox.Outbox
	client *dynamodb.Client
	cfg    Config
}

// New returns an inbox for the consumer called consumer, whose handlers write and enqueue in
// transactions of ob (Tx). It does not connect: call Setup once, for example at start-up. The
// inbox remembers messages under the name, which has at most 255 bytes; see inbox.New. Errors
// wrap outbox.ErrInvalidConfig.
func New(ob *dynamooutbox.Outbox, client *dynamodb.Client, consumer string, cfg Config) (*Inbox, error) {
	switch {
	case ob == nil:
		return nil, outbox.ConfigError("ob", nil, "must not be nil")
	case client == nil:
		return nil, outbox.ConfigError("client", nil, "must not be nil")
	case len(consumer) > maxConsumerBytes:
		return nil, outbox.ConfigError("consumer", strconv.Quote(consumer), "must have at most 255 bytes")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p, err := inbox.New(&store{ob: ob, client: client, consumer: consumer, cfg: cfg}, consumer, cfg.Config)
	if err != nil {
		return nil, err
	}
	return &Inbox{Processor: p, ob: ob, client: client, cfg: cfg}, nil
}

// For returns the inbox of the handler called handler in Watermill's router, for
// middleware.InboxConfig.For: another consumer in the same table, with the same Config, whose
// name is in's name, a slash and the handler's name. A renamed handler remembers no messages. The
// result is an *Inbox. Errors wrap outbox.ErrInvalidConfig.
func (in *Inbox) For(handler string) (inbox.Runner, error) {
	if handler == "" {
		return nil, outbox.ConfigError("handler", `""`, "must not be empty")
	}
	own, err := New(in.ob, in.client, in.Consumer()+"/"+handler, in.cfg)
	if err != nil {
		return nil, err
	}
	return own, nil
}

// Tx returns the transaction that ctx carries: that of a handler. The handler adds its writes
// with Add; the transaction also holds what other code adds and enqueues. Together these are at
// most 99 items: one less than the 100 of a transaction of dynamooutbox.
func Tx(ctx context.Context) (*dynamooutbox.Tx, bool) { return dynamooutbox.TxFrom(ctx) }
