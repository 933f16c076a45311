package wmforward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// Source reads a forwarder's table for relays of one group. It is safe for
// concurrent use; replicas of one relay use the same group, in one process or
// many.
type Source struct {
	pool    pgpin.Pool // the application's pool, with our settings
	address pgpin.Address
	room    *pgpin.Room // for second connections
	cfg     Config
	sql     statements
	leases  *pglease.Statements
	window  *pgwindow.Statements
	held    *pgheld.Statements
	slot    pglease.Slot
	most    int // limit of a list of places

	claimant *pglease.Claimant
}

var (
	_ driver.Source       = (*Source)(nil)
	_ driver.PolicyKeeper = (*Source)(nil)
	_ driver.Placed       = (*Source)(nil)
)

// LogValue implements slog.LogValuer: the outbox and the group, as relays log them.
func (s *Source) LogValue() slog.Value {
	return slog.GroupValue(slog.String("outbox", s.cfg.Schema+"."+s.cfg.Table), slog.String("group", s.cfg.Group))
}

// New returns the Source over the forwarder's table in the database of pool. It returns an error
// that wraps outbox.ErrInvalidConfig if pool is nil or cfg is invalid. It connects to nothing:
// call Migrate once, for example at start-up.
//
// While it leads, a relay uses its own connection, and a second one while pages follow each
// other. They are opened as the pool would open them and closed when it stops. At its start it
// borrows one of the pool's for a moment. Connect it directly, or through a pooler in session
// mode. It needs USAGE on the schema, SELECT on the forwarder's table, SELECT, INSERT and UPDATE
// on that of its offsets, and SELECT, INSERT, UPDATE and DELETE on those of its own.
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
	leases, err := pglease.Prepare(cfg.state())
	if err != nil {
		return nil, err
	}
	window, err := pgwindow.Prepare(cfg.state())
	if err != nil {
		return nil, err
	}
	held, err := pgheld.Prepare(cfg.state())
	if err != nil {
		return nil, err
	}
	claimant, err := pglease.NewClaimant()
	if err != nil {
		return nil, err
	}
	return &Source{
		pool:     pgpin.Pool{Sessions: pgpin.Of(pool)},
		address:  pgpin.AddressOf(pool),
		room:     pgpin.RoomOf(pool),
		cfg:      cfg,
		sql:      sql,
		leases:   leases,
		window:   window,
		held:     held,
		slot:     pglease.Slot{Group: cfg.Group},
		most:     mostPlaces,
		claimant: claimant,
	}, nil
}

// Place implements driver.Placed, on a connection of the pool.
func (s *Source) Place(ctx context.Context) (p driver.Place, err error) {
	err = s.pool.Use(ctx, func(conn *pgx.Conn) error {
		p.Host = conn.Config().Host
		return conn.QueryRow(ctx, s.sql.place).Scan(&p.Database, &p.Instance)
	})
	return p, unusable(err)
}

// Check implements driver.Source. It refuses missing tables, a table without
// transaction_id or an index on it, a sequence that caches, a standby, a database
// whose synchronous_commit is off (Config.AllowAsyncCommit), and a stored position
// that belongs to another cluster.
func (s *Source) Check(ctx context.Context) error {
	err := unusable(s.check(ctx))
	if errors.Is(err, pgwindow.ErrStandby) {
		// At the start a standby is a mistake. Later on it is a failover in progress, which passes.
		return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	return err
}

func (s *Source) check(ctx context.Context) error {
	if err := s.requireSchema(ctx); err != nil {
		return err
	}
	facts, err := s.facts(ctx, s.pool)
	if err != nil {
		return err
	}
	if facts.synchronousCommit == "off" && !s.cfg.AllowAsyncCommit {
		return errAsyncCommit
	}
	w, err := s.window.Load(ctx, s.pool, s.slot)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = facts.belongs(w)
	}
	return err
}

// Acquire implements driver.Source. The first session of a group replaces the forwarder (see
// Config.Shadow for the exception). Under the lock that the forwarder holds while it sends, it
// starts at the forwarder's position, in the middle of a transaction if needed, and moves the
// forwarder's own position past every transaction, so that it sends nothing more. Nothing is sent
// twice at this point, except for a batch that the forwarder has sent without storing its
// position.
//
// A relay tries again while a forwarder holds its position. A ttl that does not exceed
// Config.TakeOverTimeout is refused (outbox.ErrInvalidConfig). A lease that an earlier session of
// the same Source left behind is taken over at once, and so is that of a relay whose session is
// gone.
func (s *Source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	wait, err := s.takeOverTimeout(ttl)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	attempt := s.claimant.Begin()
	n, err := s.acquire(ctx, attempt, ttl, wait)
	if err != nil {
		s.claimant.End(attempt)
		return nil, unusable(describe(err))
	}
	return n, nil
}

// acquire checks first. Then it opens the connection on which it claims: its lock must be there
// before the claim.
func (s *Source) acquire(ctx context.Context, attempt pglease.Attempt, ttl, wait time.Duration) (*pglog.Session, error) {
	if err := s.leases.Look(ctx, s.pool, s.slot, attempt.Former); err != nil {
		return nil, err
	}
	writer, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	owner, err := s.leases.Lock(ctx, writer, attempt)
	var lease pglease.Lease
	if err == nil {
		lease, err = s.claim(ctx, writer, owner, attempt, ttl)
	}
	if err != nil {
		pglog.Close(ctx, writer)
		return nil, err
	}
	n, err := s.open(ctx, writer, lease, attempt, wait)
	if err != nil {
		s.leases.GiveBack(ctx, s.pool, lease, s.log())
	}
	return n, err
}

// KeepPolicies implements driver.PolicyKeeper.
func (s *Source) KeepPolicies(ctx context.Context, change func(note string, now time.Time) string) (bool, error) {
	kept, err := s.leases.KeepPolicies(ctx, s.pool, s.cfg.Group, change)
	return kept, unusable(describe(err))
}

// Wakes implements driver.Source: there are none, since producers do not know about a Source. A
// relay finds records by polling.
func (s *Source) Wakes(context.Context) <-chan struct{} {
	return nil
}

// claim takes the lease for owner, also from a relay whose session is gone.
func (s *Source) claim(ctx context.Context, db pglease.Beginner, owner string, attempt pglease.Attempt, ttl time.Duration) (pglease.Lease, error) {
	if _, err := s.leases.BuryNow(ctx, db, s.slot.Group); err != nil {
		return pglease.Lease{}, err
	}
	return s.leases.Claim(ctx, db, s.slot, owner, attempt.Former, ttl)
}

// log is where the Source logs events about its lease.
func (s *Source) log() *slog.Logger {
	return s.cfg.Logger.With(slog.String("group", s.slot.Group))
}
