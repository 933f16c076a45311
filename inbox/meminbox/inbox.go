package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// Joined is another transaction in memory that commits together with an inbox's, just before it.
type Joined interface {
	// Context returns a child of ctx that carries the transaction.
	Context(ctx context.Context) context.Context
	// Commit ends the transaction. If it fails nothing is committed.
	Commit(ctx context.Context) error
	// Rollback ends the transaction.
	Rollback(ctx context.Context) error
}

// Config tunes an Inbox. The zero value is a good start.
type Config struct {
	// Config is the configuration of the engine.
	inbox.Config

	// Store is the memory, which inboxes can share.
	// Defaults to one of the inbox's own.
	Store *Store

	// Join begins a transaction that commits together with each of the inbox's, such as one of
	// memoutbox, for the messages that handlers return. The two do not commit at exactly the same
	// time: that takes a database. Defaults to none.
	Join func(ctx context.Context) (Joined, error)
}

// Inbox is a Processor in memory. It is safe for concurrent use.
type Inbox struct {
	*inbox.Processor

	cfg Config
}

// For returns the inbox of the handler called handler in Watermill's router, for
// middleware.InboxConfig.For: another consumer of the same Store, whose name is in's name, a
// slash and the handler's name. The result is an *Inbox. Errors wrap outbox.ErrInvalidConfig.
func (in *Inbox) For(handler string) (inbox.Runner, error) {
	if handler == "" {
		return nil, outbox.ConfigError("handler", `""`, "must not be empty")
	}
	own, err := New(in.Consumer()+"/"+handler, in.cfg)
	if err != nil {
		return nil, err
	}
	return own, nil
}

// New returns an inbox for the consumer called consumer; see inbox.New. Errors
// wrap outbox.ErrInvalidConfig.
func New(consumer string, cfg Config) (*Inbox, error) {
	if cfg.Store == nil {
		cfg.Store = &Store{}
	}
	processor, err := inbox.New(claims{store: cfg.Store, consumer: consumer, join: cfg.Join}, consumer, cfg.Config)
	if err != nil {
		return nil, err
	}
	return &Inbox{Processor: processor, cfg: cfg}, nil
}
