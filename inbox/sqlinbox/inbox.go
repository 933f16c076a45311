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

// New returns an inbox for the consumer called consumer, whose handlers write in a transaction of
// db (Tx). It does not touch the database. The inbox remembers messages under the name, which has
// at most 255 bytes; see inbox.New. Errors wrap outbox.ErrInvalidConfig.
//
// Each delivery takes a connection of db from its claim to its commit. The caller closes the
// pool.
//
// A delivery fails with outbox.ErrNotDurable while innodb_flush_log_at_trx_commit is not 1, or
// SQLite's synchronous is below FULL. This is checked once a minute.
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
// middleware.InboxConfig.For: another consumer in the same tables, with the same Config, whose
// name is in's name, a slash and the handler's name. A renamed handler remembers no messages. The
// result is an *Inbox. Errors wrap outbox.ErrInvalidConfig.
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
// outbox.ErrNotDurable, outbox.ErrNotMigrated, or the error of the check itself. Each delivery
// fails with the same error; call it at start-up to see it earlier.
func (in *Inbox) Check(ctx context.Context) error {
	_, err := in.store.check(ctx)
	return err
}
