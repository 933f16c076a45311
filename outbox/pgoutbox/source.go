package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
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
	// position. A new group starts at the oldest message that is retained. At most
	// 200 bytes.
	// Defaults to "default".
	Group string
}

// Source reads the outbox for relays of one group. See Outbox.Source.
type Source struct {
	ob   *Outbox
	slot pgwindow.Slot

	mu     sync.Mutex
	former string // the owner of a session that could not be released
}

var _ relay.Source = (*Source)(nil)

// Source returns the outbox as a source for relay.New. Replicas of one relay use
// the same group, in one process or many. It connects to nothing.
//
// While it leads, a relay uses two connections of its own, opened as the pool
// would open them and closed when it stops; to claim the lease it borrows one of
// the pool's for a moment. Connect it directly, or through a pooler in session
// mode: its connections set jit, synchronous_commit and timeouts for themselves.
// It needs SELECT on the log and its sequence, and SELECT, INSERT, UPDATE and
// DELETE on the tables of leases and positions.
func (o *Outbox) Source(cfg SourceConfig) (*Source, error) {
	if cfg.Group == "" {
		cfg.Group = "default"
	}
	if len(cfg.Group) > 200 || !utf8.ValidString(cfg.Group) {
		return nil, outbox.ConfigError("Group", strconv.Quote(cfg.Group), "must be valid UTF-8 of at most 200 bytes")
	}
	return &Source{ob: o, slot: pgwindow.Slot{Group: cfg.Group}}, nil
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

// Acquire implements relay.Source.
func (s *Source) Acquire(ctx context.Context, ttl time.Duration) (relay.Session, error) {
	owner, err := newOwner()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	former := s.former
	s.mu.Unlock()
	lease, err := s.ob.window.Claim(ctx, s.ob.pool, s.slot, owner, former, ttl)
	if held, ok := errors.AsType[*pgwindow.HeldError](err); ok {
		return nil, &relay.LeaseHeldError{Owner: held.Owner, Remaining: held.Remaining}
	}
	if err != nil {
		return nil, unusable(describe(err))
	}
	session, err := s.open(ctx, lease)
	if err != nil {
		s.abandoned(owner)
		return nil, unusable(err)
	}
	s.abandoned("")
	return session, nil
}

// abandoned notes the owner of a lease that is nobody's any more although it
// still runs, so that the next Acquire of this source need not wait for it.
func (s *Source) abandoned(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.former = owner
}

// Wakes implements relay.Source.
func (s *Source) Wakes(ctx context.Context) <-chan struct{} {
	return s.ob.bell.listen(ctx)
}

var errAsyncCommit = errors.New("leat: synchronous_commit is off: messages would be published before they are durable (Config.AllowAsyncCommit)")

// unusable marks the errors that trying again cannot mend and that could lose
// messages if they were ignored.
func unusable(err error) error {
	for _, fatal := range []error{
		outbox.ErrNotMigrated, errAsyncCommit,
		pgwindow.ErrSequenceWentBack, pgwindow.ErrOtherCluster, pgwindow.ErrSequenceCache, pgwindow.ErrStandby,
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

// newOwner names one incarnation of one reader, for people too.
func newOwner() (string, error) {
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
