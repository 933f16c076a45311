package sqlinbox

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/outbox"
)

// Inbox is a Processor on database/sql; see inbox.Processor. It is safe for concurrent
// use.
type Inbox struct {
	*inbox.Processor

	db      *sql.DB
	dialect outbox.Dialect
	cfg     Config
	store   *store
}

// New returns an inbox for the consumer called consumer, whose handlers write in a
// transaction of db (Tx). It does not touch the database. The name, at most 255
// bytes, is what the inbox remembers messages by; see inbox.New. Errors wrap
// outbox.ErrInvalidConfig.
//
// Each delivery takes a connection of db from its claim to its commit. The pool stays the
// caller's to close.
//
// A delivery fails with outbox.ErrNotDurable while innodb_flush_log_at_trx_commit is not 1, or
// SQLite's synchronous is below FULL. It is looked at once a minute.
func New(db *sql.DB, dialect outbox.Dialect, consumer string, cfg Config) (*Inbox, error) {
	cfg = cfg.withDefaults()
	t, err := newTables(db, dialect, cfg)
	if err != nil {
		return nil, err
	}
	if len(consumer) > maxConsumerBytes {
		return nil, outbox.ConfigError("consumer", strconv.Quote(consumer), "must have at most 255 bytes")
	}
	s := &store{tables: t, consumer: consumer, isolation: cfg.Isolation}
	processor, err := inbox.New(s, consumer, cfg.Config)
	if err != nil {
		return nil, err
	}
	return &Inbox{Processor: processor, db: db, dialect: dialect, cfg: cfg, store: s}, nil
}

// For returns the inbox of the handler called handler in Watermill's router, for
// middleware.InboxConfig.For: another consumer in the same tables, with the same Config,
// called by in's name, a slash and the handler's. A handler that is renamed begins with
// an empty memory. The result is an *Inbox. Errors wrap outbox.ErrInvalidConfig.
func (in *Inbox) For(handler string) (inbox.Runner, error) {
	if handler == "" {
		return nil, outbox.ConfigError("handler", `""`, "must not be empty")
	}
	own, err := New(in.db, in.dialect, in.Consumer()+"/"+handler, in.cfg)
	if err != nil {
		return nil, err
	}
	return own, nil
}

// Check returns an error if the database cannot hold the inbox: ErrUnsupported,
// outbox.ErrNotDurable, outbox.ErrNotMigrated, or what kept it from being looked at. Each
// delivery fails with the same error; call it at start-up to see it earlier.
func (in *Inbox) Check(ctx context.Context) error {
	_, err := in.store.check(ctx)
	return err
}
