package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgwindow"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// SourceConfig tunes a Source.
type SourceConfig struct {
	// Group names an independent reader of the outbox, with its own lease and
	// position. A new group starts at the oldest message that is retained. Valid
	// UTF-8 without NUL, at most 200 bytes.
	// Defaults to "default".
	Group string

	// NoListen does without the connection on which a relay listens for the
	// notifications of other processes (Outbox.RunNotifier). Their messages are then
	// found by polling.
	// Defaults to false: a relay that leads listens.
	NoListen bool
}

// Source reads the outbox for relays of one group. See Outbox.Source.
type Source struct {
	ob   *Outbox
	slot pgwindow.Slot

	mu      sync.Mutex
	name    string // of this source, unique; the start of its owners' names
	claims  int64  // ever made
	running int    // sessions that have not ended
	pooled  sync.Once
	ear     ear

	noListen bool
}

var _ relay.Source = (*Source)(nil)

// Source returns the outbox as a source for relay.New. Replicas of one relay use
// the same group, in one process or many. It connects to nothing.
//
// While it leads, a relay uses two connections of its own for each slot that it
// holds and one to listen for notifications (SourceConfig.NoListen), opened as the
// pool would open them and closed when it stops. To claim a lease, and to test at
// start whether notifications come through, it borrows one of the pool's for a
// moment. A relay that stands by has none.
//
// Connect it directly, so that its connections can set jit, synchronous_commit and
// timeouts for themselves. Through a pooler, in transaction mode as well, it sets
// nothing and works all the same: more slowly, and in transaction mode by polling.
// It needs USAGE on the schema, SELECT on the log, its sequence and the tables of
// meta and migrations, and SELECT, INSERT, UPDATE and DELETE on those of leases and
// positions.
func (o *Outbox) Source(cfg SourceConfig) (*Source, error) {
	if cfg.Group == "" {
		cfg.Group = "default"
	}
	if len(cfg.Group) > 200 || !utf8.ValidString(cfg.Group) || strings.ContainsRune(cfg.Group, 0) {
		return nil, outbox.ConfigError("Group", strconv.Quote(cfg.Group), "must be valid UTF-8 without NUL, of at most 200 bytes")
	}
	name, err := newName()
	if err != nil {
		return nil, err
	}
	return &Source{ob: o, slot: pgwindow.Slot{Group: cfg.Group}, name: name, noListen: cfg.NoListen}, nil
}

// Check implements relay.Source. It refuses a missing or too old schema, a
// standby, a sequence that caches, a database whose synchronous_commit is off
// (Config.AllowAsyncCommit), and a stored position that does not belong to this
// cluster or lies ahead of the sequence.
func (s *Source) Check(ctx context.Context) error {
	if err := s.ob.requireSchema(ctx); err != nil {
		return unusable(err)
	}
	facts, err := s.ob.window.Facts(ctx, s.ob.pool)
	if errors.Is(err, pgwindow.ErrStandby) {
		// Later on it is a failover under way, which passes.
		return fmt.Errorf("%w: %w", relay.ErrSourceUnusable, err)
	}
	if err != nil {
		return unusable(err)
	}
	if facts.SynchronousCommit == "off" && !s.ob.cfg.AllowAsyncCommit {
		return unusable(errAsyncCommit)
	}
	w, err := s.ob.window.Load(ctx, s.ob.pool, s.slot)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return unusable(err)
	}
	if err := facts.Belongs(w); err != nil {
		return unusable(err)
	}
	_, err = s.ob.window.Probe(ctx, s.ob.pool, facts.Sequence, w)
	return unusable(err)
}

// Acquire implements relay.Source. A lease that an earlier session of this very
// Source left behind, because the database was away when it ended, is taken at
// once.
func (s *Source) Acquire(ctx context.Context, ttl time.Duration) (relay.Session, error) {
	owner, former := s.begin()
	lease, err := s.ob.window.Claim(ctx, s.ob.pool, s.slot, owner, former, ttl)
	if err == nil {
		var n *session
		if n, err = s.open(ctx, lease); err == nil {
			return n, nil
		}
		s.giveBack(ctx, lease)
	}
	s.ended()
	if held, ok := errors.AsType[*pgwindow.HeldError](err); ok {
		return nil, &relay.LeaseHeldError{Owner: held.Owner, Remaining: held.Remaining}
	}
	return nil, unusable(describe(err))
}

// giveBack releases a lease that was claimed and cannot be used, so that a
// replica that can use it need not wait for its end.
func (s *Source) giveBack(ctx context.Context, lease pgwindow.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := s.ob.window.Release(ctx, s.ob.pool, lease); err != nil {
		s.ob.cfg.Logger.WarnContext(ctx, "lease not given back, it will run out",
			slog.String("group", s.slot.Group), slog.Any("error", err))
	}
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

// Wakes implements relay.Source: commits that this process has announced and,
// while a session runs that listens, those that others have.
func (s *Source) Wakes(ctx context.Context) <-chan struct{} {
	c := s.ob.bell.listen(ctx)
	s.ear.subscribe(ctx, c)
	return c
}

var errAsyncCommit = errors.New("leat: synchronous_commit is off: messages would be published before they are durable (Config.AllowAsyncCommit)")

// unusable marks the errors that trying again cannot mend and that could lose
// messages if they were ignored.
func unusable(err error) error {
	for _, fatal := range []error{
		outbox.ErrNotMigrated, errAsyncCommit, errPooled,
		pgwindow.ErrSequenceWentBack, pgwindow.ErrOtherCluster, pgwindow.ErrSequenceCache, pgwindow.ErrSequencePrivilege,
	} {
		if errors.Is(err, fatal) {
			return fmt.Errorf("%w: %w", relay.ErrSourceUnusable, err)
		}
	}
	if errors.Is(err, pgwindow.ErrLost) {
		return fmt.Errorf("%w: %w", relay.ErrLeaseLost, err)
	}
	return err
}

// newName returns a name that no other source has, readable for people.
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
