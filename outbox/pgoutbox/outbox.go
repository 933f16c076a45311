package pgoutbox

import (
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Outbox is one outbox in one PostgreSQL database. It is safe for concurrent
// use; make one and keep it. It owns no goroutines and needs no Close.
type Outbox struct {
	pool     pgpin.Pool    // the application's pool, with our settings
	address  pgpin.Address // configuration of our own connections
	db       *sql.DB       // nil if made by New
	noteKey  string        // key of the note, on a connection, that it leads to the outbox's database
	seenKey  string        // the same, for connections on which only an INSERT can find that out
	cfg      Config
	prepare  outbox.Preparer
	sql      statements
	leases   *pglease.Statements
	window   *pgwindow.Statements
	chain    *pgwindow.Chain
	held     *pgheld.Statements
	table    string // the log's name, from which the locks of keys are derived
	wholeBox int64  // the advisory lock of the whole outbox
	shared   *shared
	room     *pgpin.Room // for second connections of relays
	bell     bell
	delays   delays
	pooled   atomic.Bool // our last own connection went through a pooler

	// The locks of batches and of database/sql transactions, which do not show their connections.
	sqlLocks    weakly[sql.Tx, keyLocks]
	queuedKeys  weakly[pgx.Batch, queuedKeys]
	otherDriver atomic.Bool // a transaction had a driver other than pgx's

	waitWarning time.Duration // the constant waitWarning; shorter in tests

	mu       sync.Mutex
	instance string // id of this outbox; empty until it was queried
	asking   *asking
}

var _ outbox.Enqueuer = (*Outbox)(nil)

// New returns the outbox that lives in the database of pool. It returns an error that wraps
// outbox.ErrInvalidConfig if pool is nil or cfg is invalid. It connects to nothing: call Migrate
// once, for example at start-up.
//
// Connections outside the pool, such as the relay's, are opened as the pool would open them,
// including its BeforeConnect: it can set a changing password.
func New(pool *pgxpool.Pool, cfg Config) (*Outbox, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	o, err := newOutbox(pgpin.Of(pool), pgpin.AddressOf(pool), cfg)
	if err != nil {
		return nil, err
	}
	o.room, o.shared = pgpin.RoomOf(pool), byPool.Of(weak.Make(pool), o.newShared)
	return o, nil
}

// NewSQL is New for services on database/sql, whose transactions are those of InSQLTx. The
// driver of db must be pgx's own, github.com/jackc/pgx/v5/stdlib: others, and wrappers
// of it, are refused. A service on lib/pq uses New with a small pgx pool, and EnqueueSQL.
//
// Connections outside db, such as the relay's, are opened with the address and the password of a
// connection of db and, if the server refuses that password, with those of a newer connection.
// What stdlib.OptionAfterConnect sets is not set on them.
func NewSQL(db *sql.DB, cfg Config) (*Outbox, error) {
	if db == nil {
		return nil, outbox.ConfigError("db", nil, "must not be nil")
	}
	if _, ok := db.Driver().(*stdlib.Driver); !ok {
		return nil, outbox.ConfigError("db", fmt.Sprintf("%T", db.Driver()),
			"must use pgx's driver, *stdlib.Driver; with another one, such as lib/pq, give New a pgx pool for the relay, and EnqueueSQL the transactions")
	}
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	sessions := pgpin.OfSQL(db)
	o, err := newOutbox(sessions, sessions, cfg)
	if err != nil {
		return nil, err
	}
	o.db, o.room, o.shared = db, &pgpin.Room{}, byPool.Of(weak.Make(db), o.newShared)
	return o, nil
}

// complete returns c with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	c = c.withDefaults()
	return c, c.validate()
}

func newOutbox(sessions pgpin.Sessions, address pgpin.Address, cfg Config) (*Outbox, error) {
	sql, err := loadStatements(cfg)
	if err != nil {
		return nil, err
	}
	leases, err := pglease.Prepare(cfg.names())
	if err != nil {
		return nil, err
	}
	window, err := pgwindow.Prepare(cfg.names())
	if err != nil {
		return nil, err
	}
	chain, err := pgwindow.PrepareChain(cfg.names())
	if err != nil {
		return nil, err
	}
	held, err := pgheld.Prepare(cfg.names())
	if err != nil {
		return nil, err
	}
	self, err := ids.New()
	if err != nil {
		return nil, err
	}
	table := cfg.names().Qualified("")
	return &Outbox{
		pool:     pgpin.Pool{Sessions: sessions},
		address:  address,
		noteKey:  "leat:" + self,
		seenKey:  "leat:seen:" + self,
		cfg:      cfg,
		prepare:  outbox.Preparer{MaxPayloadBytes: cfg.MaxPayloadBytes, Injector: cfg.Injector},
		sql:      sql,
		leases:   leases,
		window:   window,
		chain:    chain,
		held:     held,
		table:    table,
		wholeBox: keyhash.Lock("outbox", table),

		waitWarning: waitWarning,
	}, nil
}
