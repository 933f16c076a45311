package pginbox

import (
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
)

// Inbox is a Processor on PostgreSQL; see inbox.Processor. It is safe for
// concurrent use.
type Inbox struct {
	*inbox.Processor

	cfg      Config
	db       pgmigrate.DB
	sessions pgpin.Sessions // for maintenance
	store    *store
}

// New returns an inbox for the consumer called consumer, whose handlers write in a pgx
// transaction (Tx). It does not touch the database. The inbox remembers messages under the name;
// see inbox.New. Errors wrap outbox.ErrInvalidConfig.
//
// Each delivery takes a connection of pool from its claim to its commit. The caller closes the
// pool.
//
// A delivery fails with outbox.ErrNotDurable while synchronous_commit is off in its session; any
// other setting is fine. It is checked when a message is claimed: a handler must not switch it
// off later in the transaction. If row level security would hide rows, the error is
// outbox.ErrRowSecurity, which is checked once per connection.
// See design 12.2.
func New(pool *pgxpool.Pool, consumer string, cfg Config) (*Inbox, error) {
	handle, err := pgclaim.FromPool(pool, cfg.Isolation, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return newInbox(handle, pgpin.Of(pool), consumer, cfg)
}

// For returns the inbox of the handler called handler in Watermill's router, for
// middleware.InboxConfig.For: another consumer in the same tables, with the same Config, whose
// name is in's name, a slash and the handler's name. A renamed handler remembers no messages. An
// Admin shows a handler's messages under that consumer name. The result is an *Inbox. Errors wrap
// outbox.ErrInvalidConfig.
func (in *Inbox) For(handler string) (inbox.Runner, error) {
	if handler == "" {
		return nil, outbox.ConfigError("handler", `""`, "must not be empty")
	}
	own, err := newInbox(in.store.handle, in.sessions, in.Consumer()+"/"+handler, in.cfg)
	if err != nil {
		return nil, err
	}
	return own, nil
}

// NewSQL is New for handlers that write in a database/sql transaction (SQLTx).
// The driver of db must be pgx's own, github.com/jackc/pgx/v5/stdlib:
// others, and wrappers of it, are refused.
//
// A handler must not end the transaction: database/sql has no way to prevent that. If it does,
// the messages that it returns are not enqueued.
func NewSQL(db *sql.DB, consumer string, cfg Config) (*Inbox, error) {
	handle, err := pgclaim.FromSQL(db, cfg.Isolation, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return newInbox(handle, pgpin.OfSQL(db), consumer, cfg)
}

func newInbox(handle pgclaim.Handle, sessions pgpin.Sessions, consumer string, cfg Config) (*Inbox, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s, err := newStore(handle, sessions, consumer, cfg)
	if err != nil {
		return nil, err
	}
	engine := cfg.Config
	engine.Hooks = hooks.Only(engine.Hooks, hooks.Is[inbox.DeliveryHook])
	processor, err := inbox.New(s, consumer, engine)
	if err != nil {
		return nil, err
	}
	return &Inbox{Processor: processor, cfg: cfg, db: handle.DB(), sessions: sessions, store: s}, nil
}
