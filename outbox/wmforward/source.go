package wmforward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Source reads a forwarder's table for relays of one group. It is safe for
// concurrent use; replicas of one relay use the same group, in one process or
// many.
type Source struct {
	pool    *pgxpool.Pool
	address *pgxpool.Config // the pool's: read once, since Pool.Config copies
	cfg     Config
	sql     statements
	window  *pgwindow.Statements
	held    *pgheld.Statements
	slot    pgwindow.Slot
	most    int // bound of a list of places

	mu      sync.Mutex
	name    string // of this source, unique; the start of its owners' names
	claims  int64  // ever made
	running int    // sessions that have not ended
}

var _ driver.Source = (*Source)(nil)

// New returns the Source over the forwarder's table in the database of pool. It
// returns an error that wraps outbox.ErrInvalidConfig when pool is nil or cfg
// cannot work. It connects to nothing: call Migrate once, for example at
// start-up.
//
// While it leads, a relay uses two connections of its own, opened as the pool
// would open them and closed when it stops; for a moment at its start it borrows
// one of the pool's. Connect it directly, or through a pooler in session mode. It
// needs USAGE on the schema, SELECT on the forwarder's table, SELECT, INSERT and
// UPDATE on that of its offsets, and SELECT, INSERT, UPDATE and DELETE on those of
// its own.
func New(pool *pgxpool.Pool, cfg Config) (*Source, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	sql, err := renderStatements(cfg)
	if err != nil {
		return nil, err
	}
	window, err := pgwindow.Prepare(cfg.state())
	if err != nil {
		return nil, err
	}
	held, err := pgheld.Prepare(cfg.state(), window)
	if err != nil {
		return nil, err
	}
	name, err := newName()
	if err != nil {
		return nil, err
	}
	return &Source{
		pool:    pool,
		address: pool.Config(),
		cfg:     cfg,
		sql:     sql,
		window:  window,
		held:    held,
		slot:    pgwindow.Slot{Group: cfg.Group},
		most:    mostPlaces,
		name:    name,
	}, nil
}

// Check implements driver.Source. It refuses missing tables, a table without
// transaction_id or an index on it, a sequence that caches, a standby, a database
// whose synchronous_commit is off (Config.AllowAsyncCommit), and a stored position
// that belongs to another cluster.
func (s *Source) Check(ctx context.Context) error {
	if err := s.requireSchema(ctx); err != nil {
		return unusable(err)
	}
	facts, err := s.facts(ctx, s.pool)
	if errors.Is(err, pgwindow.ErrStandby) {
		// Later on it is a failover under way, which passes.
		return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	if err != nil {
		return unusable(err)
	}
	if facts.synchronousCommit == "off" && !s.cfg.AllowAsyncCommit {
		return unusable(errAsyncCommit)
	}
	w, err := s.window.Load(ctx, s.pool, s.slot)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = facts.belongs(w)
	}
	return unusable(err)
}

// Acquire implements driver.Source. The first session of a group takes the
// forwarder's place (see Config.Shadow for the exception): under the lock that the
// forwarder holds while it sends, it starts where the forwarder stands, in the
// middle of a transaction if need be, and puts the forwarder's own position behind
// every transaction, so that it sends nothing more. Nothing is sent twice there,
// but for a batch that the forwarder has sent and could not store.
//
// ErrForwarderRunning is tried again by a relay. A ttl that is not above
// Config.TakeOverTimeout is refused (outbox.ErrInvalidConfig). A lease that an earlier session of
// this very Source left behind is taken at once.
func (s *Source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	wait, err := s.takeOverTimeout(ttl)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	lease, err := s.claim(ctx, ttl)
	if err != nil {
		return nil, err
	}
	n, err := s.open(ctx, lease, wait)
	if err != nil {
		s.giveBack(ctx, lease)
		return nil, unusable(describe(err))
	}
	return n, nil
}

// Wakes implements driver.Source: there are none, since producers know nothing of
// a Source. A relay finds records by polling.
func (s *Source) Wakes(context.Context) <-chan struct{} {
	return nil
}

// claim takes the lease. giveBack, or the release of a session, undoes it.
func (s *Source) claim(ctx context.Context, ttl time.Duration) (pgwindow.Lease, error) {
	owner, former := s.begin()
	lease, err := s.window.Claim(ctx, s.pool, s.slot, owner, former, ttl)
	if err == nil {
		return lease, nil
	}
	s.ended()
	if held, ok := errors.AsType[*pgwindow.HeldError](err); ok {
		return lease, &driver.LeaseHeldError{Owner: held.Owner, Remaining: held.Remaining}
	}
	return lease, unusable(describe(err))
}

// giveBack releases a lease that was claimed and is not used any more, so that
// others need not wait for its end.
func (s *Source) giveBack(ctx context.Context, lease pgwindow.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := s.window.Release(ctx, s.pool, lease); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "lease not given back, it will run out",
			slog.String("group", s.slot.Group), slog.Any("error", err))
	}
	s.ended()
}

// begin names a new owner, and whose leases it may take: those of the owners of
// this source before it, unless one of them is in use.
func (s *Source) begin() (owner string, former pgwindow.Former) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == 0 {
		former = pgwindow.Former{Prefix: s.name + "/", Last: s.claims}
	}
	s.claims++
	s.running++
	return s.name + "/" + strconv.FormatInt(s.claims, 10), former
}

// ended notes that a session is over, its lease released or not.
func (s *Source) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

// newName returns a name that no other source has, readable for operators.
func newName() (string, error) {
	id, err := ids.New()
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "/" + strconv.Itoa(os.Getpid()) + "/" + id, nil
}
