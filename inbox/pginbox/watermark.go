package pginbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
)

// ErrOtherInbox is returned for a consumer that is used with New and with
// NewWatermark: neither knows what the other has processed. Returned by
// Watermark.Assigned, and by Process of an Inbox on connections that it has not
// used before.
var ErrOtherInbox = errors.New("leat: the consumer is used with an inbox of ids and with one of positions")

// Watermark is a Processor on PostgreSQL that remembers how far it has come in
// each partition of a log, instead of the ids of messages. It needs one row a
// partition, however many messages there are. Messages need an driver.Position,
// which the subscriber puts into their contexts, and the subscriber needs
// Assigned, which says where each partition is to be read on. It is safe for
// concurrent use.
//
// It recognises that a record of the log is delivered again, to whatever session
// and after whatever crash. It does not recognise a message that its producer has
// sent twice, since that has two positions: New does.
type Watermark struct {
	*inbox.Processor

	cfg  WatermarkConfig
	keys watermarkKeys
	db   pgmigrate.DB
	lend lender
}

var _ driver.Assigner = (*Watermark)(nil)

// lender lends a connection that is in no transaction.
type lender func(ctx context.Context, use func(*pgx.Conn) error) error

// NewWatermark returns an inbox of positions for the consumer called consumer,
// whose handlers write in a pgx transaction (Tx, Handle). It does not touch the
// database. The name is what positions are remembered by; see inbox.New. Topics
// are the names of all that the consumer reads: a message of another, such as
// copies of failed messages in a retry topic, is refused. Errors wrap
// outbox.ErrInvalidConfig.
//
// Each delivery takes a connection of pool from its claim to its commit. The
// pool stays the caller's to close.
func NewWatermark(pool *pgxpool.Pool, consumer string, topics []string, cfg WatermarkConfig) (*Watermark, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	lend := func(ctx context.Context, use func(*pgx.Conn) error) error {
		return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error { return use(c.Conn()) })
	}
	return newWatermark(consumer, topics, cfg, pgmigrate.FromPool(pool), lend,
		func(keys watermarkKeys, cfg WatermarkConfig) driver.Store {
			return &watermarkPool{watermarkKeys: keys, pool: pool, isolation: cfg.Isolation}
		})
}

// NewWatermarkSQL is NewWatermark for handlers that write in a database/sql
// transaction (SQLTx, HandleSQL). The driver of db must be pgx's own; see NewSQL.
func NewWatermarkSQL(db *sql.DB, consumer string, topics []string, cfg WatermarkConfig) (*Watermark, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	if _, ok := db.Driver().(*stdlib.Driver); !ok {
		return nil, outbox.ConfigError("db", fmt.Sprintf("%T", db.Driver()), "must use pgx's driver, *stdlib.Driver")
	}
	return newWatermark(consumer, topics, cfg, pgmigrate.FromSQL(db), lendSQL(db),
		func(keys watermarkKeys, cfg WatermarkConfig) driver.Store {
			return &watermarkSQL{watermarkKeys: keys, db: db, isolation: sqlIsolation(cfg.Isolation)}
		})
}

func lendSQL(db *sql.DB) lender {
	return func(ctx context.Context, use func(*pgx.Conn) error) (err error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		return conn.Raw(func(driverConn any) error {
			c, ok := driverConn.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("leat: database/sql connection is a %T, want pgx's driver", driverConn)
			}
			return use(c.Conn())
		})
	}
}

func newWatermark(
	consumer string, topics []string, cfg WatermarkConfig, db pgmigrate.DB, lend lender,
	newStore func(keys watermarkKeys, cfg WatermarkConfig) driver.Store,
) (*Watermark, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	set, err := topicSet(topics)
	if err != nil {
		return nil, err
	}
	k, err := newWatermarkKeys(cfg.base().names(), consumer, set)
	if err != nil {
		return nil, err
	}
	processor, err := inbox.New(newStore(k, cfg), consumer, cfg.Config)
	if err != nil {
		return nil, err
	}
	return &Watermark{Processor: processor, cfg: cfg, keys: k, db: db, lend: lend}, nil
}

// Migrate creates or upgrades the schema, which inboxes of ids share; see
// Inbox.Migrate.
func (w *Watermark) Migrate(ctx context.Context) error {
	return migrations(w.cfg.base()).Migrate(ctx, w.db, pgmigrate.Options{LockTimeout: w.cfg.MigrateLockTimeout})
}

// Handle wraps one handler, as the function Handle does for an Inbox. The
// Watermark must come from NewWatermark.
func (w *Watermark) Handle(
	handle func(ctx context.Context, tx pgx.Tx, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	return Handle(&Inbox{Processor: w.Processor}, handle)
}

// HandleSQL is Handle for database/sql. The Watermark must come from
// NewWatermarkSQL.
func (w *Watermark) HandleSQL(
	handle func(ctx context.Context, tx *sql.Tx, msg *message.Message) error,
) message.NoPublishHandlerFunc {
	return HandleSQL(&Inbox{Processor: w.Processor}, handle)
}
