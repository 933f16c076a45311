package pginbox

import (
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// Inbox is a Processor on PostgreSQL; see inbox.Processor. It is safe for
// concurrent use.
type Inbox struct {
	*inbox.Processor

	cfg   Config
	db    pgmigrate.DB
	store driver.Store
	keys  keys

	failures *failures

	named func(consumer string) (*Inbox, error) // New or NewSQL, with another name
}

// New returns an inbox for the consumer called consumer, whose handlers write in
// a pgx transaction (Tx, Handle). It does not touch the database. The name is
// what the inbox remembers messages by; see inbox.New. Errors wrap
// outbox.ErrInvalidConfig.
//
// Each delivery takes a connection of pool from its claim to its commit. The
// pool stays the caller's to close.
func New(pool *pgxpool.Pool, consumer string, cfg Config) (*Inbox, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	return newInbox(consumer, cfg, pgmigrate.FromPool(pool), func(keys keys, f *failures, cfg Config) driver.Store {
		return &poolStore{keys: keys, failures: f, pool: pool, isolation: cfg.Isolation}
	})
}

// For returns the inbox of the handler called handler in Watermill's router, for
// middleware.Inbox.For: another consumer in the same tables, with the same Config,
// called by in's name, a slash and the handler's. A handler that is renamed begins
// with an empty memory. Parked and the like of a handler's messages are those of New
// with that name. The result is an *Inbox. Errors wrap outbox.ErrInvalidConfig.
func (in *Inbox) For(handler string) (inbox.Runner, error) {
	if handler == "" {
		return nil, outbox.ConfigError("handler", `""`, "must not be empty")
	}
	own, err := in.named(in.Consumer() + "/" + handler)
	if err != nil {
		return nil, err
	}
	return own, nil
}

// NewSQL is New for handlers that write in a database/sql transaction (SQLTx,
// HandleSQL). The driver of db must be pgx's own, github.com/jackc/pgx/v5/stdlib:
// others, and wrappers of it, are refused.
//
// A handler must not end the transaction: database/sql has no way to keep it
// from doing so. Ended early, the messages that it returns are not enqueued.
func NewSQL(db *sql.DB, consumer string, cfg Config) (*Inbox, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	if _, ok := db.Driver().(*stdlib.Driver); !ok {
		return nil, outbox.ConfigError("db", fmt.Sprintf("%T", db.Driver()), "must use pgx's driver, *stdlib.Driver")
	}
	return newInbox(consumer, cfg, pgmigrate.FromSQL(db), func(keys keys, f *failures, cfg Config) driver.Store {
		return &sqlStore{keys: keys, failures: f, db: db, isolation: sqlIsolation(cfg.Isolation)}
	})
}

func newInbox(
	consumer string, cfg Config, db pgmigrate.DB, newStore func(keys keys, f *failures, cfg Config) driver.Store,
) (*Inbox, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	k, err := newKeys(cfg.names(), consumer)
	if err != nil {
		return nil, err
	}
	k.edge = newEdge(cfg)
	f, err := newFailures(k, cfg, db)
	if err != nil {
		return nil, err
	}
	store := newStore(k, f, cfg)
	processor, err := inbox.New(store, consumer, cfg.Config)
	if err != nil {
		return nil, err
	}
	named := func(consumer string) (*Inbox, error) { return newInbox(consumer, cfg, db, newStore) }
	return &Inbox{Processor: processor, cfg: cfg, db: db, store: store, keys: k, failures: f, named: named}, nil
}
