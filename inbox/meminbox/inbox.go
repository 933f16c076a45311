package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox"
)

// Joined is a transaction in memory of another kind that commits with a Tx,
// first.
type Joined interface {
	// Context returns a child of ctx that carries the transaction.
	Context(ctx context.Context) context.Context
	// Commit ends the transaction. If it fails nothing is committed.
	Commit(ctx context.Context) error
	// Rollback ends the transaction.
	Rollback(ctx context.Context) error
}

// JoinFunc begins a transaction that a Tx is to take along.
type JoinFunc func(ctx context.Context) (Joined, error)

// Config tunes an Inbox. The zero value is a good start.
type Config struct {
	// Config is the engine's.
	inbox.Config

	// Store is the memory, which inboxes can share.
	// Defaults to one of the inbox's own.
	Store *Store

	// Join begins a transaction that commits together with each of the inbox's,
	// such as one of memoutbox, for the messages that handlers return. One of the
	// two commits a moment earlier: only a database does better.
	// Defaults to none.
	Join JoinFunc
}

// Inbox is a Processor in memory. It is safe for concurrent use.
type Inbox struct {
	*inbox.Processor
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
	return &Inbox{Processor: processor}, nil
}
