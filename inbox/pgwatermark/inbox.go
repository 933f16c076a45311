package pgwatermark

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/pgmigrate"
)

// Inbox is a Processor on PostgreSQL that remembers its position in each partition of a log,
// instead of the ids of messages. Messages need a driver.Position, which the subscriber puts into
// their contexts. The subscriber needs Assigned, which returns where to continue reading each
// partition. It is safe for concurrent use.
type Inbox struct {
	*inbox.Processor
	keys

	cfg Config
	db  pgmigrate.DB
}

var _ driver.Assigner = (*Inbox)(nil)

// New returns an inbox of positions for the consumer called consumer, whose handlers write in a
// pgx transaction (pginbox.Tx). It does not touch the database. Positions are remembered under
// the name; see inbox.New. Topics are the names of all topics that the consumer reads: messages
// of other topics, such as copies of failed messages in a retry topic, are refused. Errors wrap
// outbox.ErrInvalidConfig.
//
// Each delivery takes a connection of pool from its claim to its commit. The caller closes the
// pool.
func New(pool *pgxpool.Pool, consumer string, topics []string, cfg Config) (*Inbox, error) {
	handle, err := pgclaim.FromPool(pool, cfg.Isolation, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return newInbox(handle, consumer, topics, cfg)
}

// NewSQL is New for handlers that write in a database/sql transaction
// (pginbox.SQLTx). The driver of db must be pgx's own; see pginbox.NewSQL.
func NewSQL(db *sql.DB, consumer string, topics []string, cfg Config) (*Inbox, error) {
	handle, err := pgclaim.FromSQL(db, cfg.Isolation, cfg.Logger)
	if err != nil {
		return nil, err
	}
	return newInbox(handle, consumer, topics, cfg)
}

func newInbox(handle pgclaim.Handle, consumer string, topics []string, cfg Config) (*Inbox, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	set, err := topicSet(topics)
	if err != nil {
		return nil, err
	}
	k, err := newKeys(cfg.schema().Names(), consumer, set)
	if err != nil {
		return nil, err
	}
	engine := cfg.Config
	engine.Hooks = hooks.Only(engine.Hooks, hooks.Is[inbox.DeliveryHook])
	processor, err := inbox.New(&store{keys: k, handle: handle}, consumer, engine)
	if err != nil {
		return nil, err
	}
	return &Inbox{Processor: processor, keys: k, cfg: cfg, db: handle.DB()}, nil
}

// change runs fn in a transaction, one at a time for the consumer, which it registers.
func (in *Inbox) change(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx, number int16) error) error {
	return in.db.Use(ctx, func(conn *pgx.Conn) error {
		number, err := in.number(ctx, conn)
		if err != nil {
			return err
		}
		return in.inTurn(ctx, conn, func(tx pgx.Tx) error { return fn(ctx, tx, number) })
	})
}

// wrap adds the consumer and the operation to err.
func (in *Inbox) wrap(what string, err error) error {
	return wrap(in.Consumer(), what, err)
}

// Migrate creates or upgrades the schema, which inboxes of ids share; see
// pginbox.Inbox.Migrate.
func (in *Inbox) Migrate(ctx context.Context) error {
	return in.cfg.schema().Migrate(ctx, in.db)
}
