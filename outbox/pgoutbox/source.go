package pgoutbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// SourceConfig tunes Outbox.Source.
type SourceConfig struct {
	// Group names an independent reader of the outbox, with its own leases and
	// positions. Valid UTF-8 without NUL, at most 200 bytes, not beginning with "_".
	// Defaults to "default".
	Group string

	// NoListen disables the connection on which a relay listens for the notifications of other
	// processes (Outbox.RunNotifier). Their messages are then found by polling. Defaults to
	// false: a relay that leads listens.
	NoListen bool

	// Start is where the group begins if it has never read before; otherwise it is ignored.
	// Defaults to Oldest for the group "default"; for any other new group it must be stated.
	Start driver.Start

	// Slots divides the messages by key, so that several relays of the group work at the same time: each
	// reads all rows and sends its own. 1 to 64. A running group is changed to another number once all of
	// its live relays are configured with it. Defaults to 1.
	Slots int

	// Topics are patterns of the topics that the group reads, in which * stands for any run of
	// characters; at most 1,000. A group whose patterns change uses the new ones from its current
	// position. A relay refuses to lead if waiting messages would then never be sent
	// (admin.Manager.SetTopics). While another relay leads, its patterns apply. See
	// docs/changing.md. Defaults to all topics.
	Topics []string

	// SyncPositions makes each new window wait for the disk. A sink that keeps the position
	// itself (driver.TransactionalSink) needs it: transaction ids in a position that the server
	// had not written when it crashed are assigned to other transactions, whose messages would be
	// considered sent. Defaults to false: a crash of the server repeats a few pages. See design
	// 7.2.
	SyncPositions bool

	// Tail brings committed messages over logical replication as well, so that those of producers
	// that send no wakes (SQL, other languages, other processes without Outbox.RunNotifier) are
	// found at once and not by polling. It needs wal_level=logical, a publication and a role with
	// REPLICATION; if something is missing, the relay polls, and logs why. It needs one slot, and
	// cannot be used with SyncPositions. Total order and RunOnce do not use it. Change the
	// publication only while no relay tails: the order of a key's messages could suffer. See
	// docs/change-logs.md. Defaults to none.
	Tail *TailConfig
}

const defaultGroup = "default"

// maxSlots is the number of shards.
const maxSlots = 64

func (c SourceConfig) withDefaults() SourceConfig {
	c.Group = cmp.Or(c.Group, defaultGroup)
	c.Slots = cmp.Or(c.Slots, 1)
	if len(c.Topics) == 0 {
		c.Topics = nil
	}
	c.Topics = slices.Clone(c.Topics)
	if c.Tail != nil {
		tail := c.Tail.withDefaults()
		c.Tail = &tail
	}
	return c
}

func (c SourceConfig) validate() error {
	if err := validateGroup(c.Group); err != nil {
		return err
	}
	if err := c.Start.Check(); err != nil {
		return err
	}
	if c.Slots < 1 || c.Slots > maxSlots {
		return outbox.ConfigError("Slots", c.Slots, "must be 1 to 64")
	}
	if c.Tail != nil {
		if err := c.Tail.validate(c); err != nil {
			return err
		}
	}
	return validateTopics(c.Topics)
}

func validateGroup(group string) error {
	if len(group) > 200 || !utf8.ValidString(group) || strings.ContainsRune(group, 0) {
		return outbox.ConfigError("Group", strconv.Quote(group), "must be valid UTF-8 without NUL, of at most 200 bytes")
	}
	if strings.HasPrefix(group, "_") {
		return outbox.ConfigError("Group", strconv.Quote(group), "must not begin with _")
	}
	return nil
}

// source reads the outbox for relays of one group. See Outbox.Source.
type source struct {
	ob       *Outbox
	cfg      SourceConfig
	like     []string // Topics, for LIKE
	sql      sourceStatements
	claimant *pglease.Claimant
	pooled   sync.Once
	split    sync.Once
	listener listener
	sharing  sharing
}

var (
	_ driver.Source = (*source)(nil)
	_ driver.Placed = (*source)(nil)
)

// LogValue implements slog.LogValuer: the outbox and the group, as relays log them.
func (s *source) LogValue() slog.Value {
	return slog.GroupValue(slog.String("outbox", s.ob.cfg.Schema+"."+s.ob.cfg.Table), slog.String("group", s.cfg.Group))
}

// Source returns the outbox as a source for relay.New. Replicas of one relay use
// the same group, in one process or many. It connects to nothing.
//
// While it leads, a relay uses its own connection for each slot that it holds, and a second one
// while pages follow each other; sources of outboxes on one pool share another one, to listen for
// notifications (SourceConfig.NoListen). They are opened as the pool would open them and closed
// when the relay stops. If the server has no second connection available, the relay logs that,
// and reads and settles in turn. To claim a lease, and to test at start whether notifications
// arrive, it borrows one of the pool's for a moment, so often that the pool keeps it open. A
// standby relay only has that one.
//
// Connect it directly, so that its connections can set jit, synchronous_commit and timeouts for
// themselves. It also works through a pooler, even in transaction mode, and then sets nothing: it
// is slower, and in transaction mode it polls. It needs USAGE on the schema, SELECT on the log,
// its sequence and the tables of meta and migrations, SELECT, INSERT, UPDATE and DELETE on those
// of leases, positions, groups, members, held and dead records, and INSERT on that of the audit.
//
// Its Check refuses a missing or too old schema, a standby, even if a read/write splitter has
// chosen it, a database or a session that is not in UTF-8, a sequence that caches, a database
// whose synchronous_commit is off (Config.AllowAsyncCommit), settings that a relay needs and
// cannot change behind a pooler, row level security that would hide rows, a log that is the
// target of a logical replication, a stored position that does not belong to this cluster or to
// the present log, or is ahead of the sequence, and a new group without a stated start.
func (o *Outbox) Source(cfg SourceConfig) (driver.Source, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &source{ob: o, cfg: cfg, like: likePatterns(cfg.Topics)}
	var err error
	if s.sql, err = loadSource(o.cfg); err != nil {
		return nil, err
	}
	s.claimant, err = pglease.NewClaimant()
	return s, err
}

// Place implements driver.Placed, on a connection of the pool.
func (s *source) Place(ctx context.Context) (p driver.Place, err error) {
	err = pgx.BeginFunc(ctx, s.ob.pool, func(tx pgx.Tx) error {
		p.Host = tx.Conn().Config().Host
		return tx.QueryRow(ctx, s.sql.place).Scan(&p.Database, &p.Instance)
	})
	return p, describe(err)
}

// Check implements driver.Source.
func (s *source) Check(ctx context.Context) error {
	err := unusable(s.check(ctx))
	if errors.Is(err, pgwindow.ErrStandby) {
		// At the start a standby is a mistake. Later on it is a failover in progress, which passes.
		return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	return err
}

func (s *source) check(ctx context.Context) error {
	if err := s.ob.requireSchema(ctx); err != nil {
		return err
	}
	facts, err := s.ob.window.Facts(ctx, s.ob.pool)
	if err != nil {
		return err
	}
	if facts.SynchronousCommit == "off" && !s.ob.cfg.AllowAsyncCommit {
		return errAsyncCommit
	}
	if err := s.tryOwn(ctx); err != nil {
		return err
	}
	return s.checkPositions(ctx, facts)
}

// checkPositions checks the newest window of every slot of the group.
func (s *source) checkPositions(ctx context.Context, facts pgwindow.Facts) error {
	g, err := s.ob.chain.Group(ctx, s.ob.pool, s.cfg.Group)
	if err != nil {
		return err
	}
	if err := s.mayStart(g); err != nil {
		return err
	}
	if g.Listed && !basis.SameTopics(g.Topics, s.cfg.Topics) {
		if err := s.compareTopics(ctx, g); err != nil {
			return err
		}
	}
	all, err := s.ob.chain.All(ctx, s.ob.pool, s.cfg.Group)
	if err != nil {
		return err
	}
	if err := facts.Continues(g.Incarnation); err != nil {
		return err
	}
	newest := pgwindow.NoWindow()
	for i := range all {
		if err := facts.Belongs(all[i]); err != nil {
			return err
		}
		if all[i].SourceFloor >= newest.SourceFloor {
			newest = all[i]
		}
	}
	// Relays may have moved on since facts were read.
	if _, err = s.ob.window.Probe(ctx, s.ob.pool, facts.Sequence, newest); err != nil {
		return err
	}
	return s.ob.chain.Contradicts(ctx, s.ob.pool, s.cfg.Group)
}

// Acquire implements driver.Source: it takes any free slot. A lease that an earlier session of
// the same source left behind, because the database was unavailable when it ended, is taken over
// at once, and so is that of a relay whose session is gone.
func (s *source) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	attempt := s.claimant.Begin()
	n, err := s.acquire(ctx, attempt, ttl)
	if err != nil {
		s.claimant.End(attempt)
		return nil, unusable(describe(err))
	}
	return n, nil
}

// acquire checks first, which costs one statement while others hold all slots. Then it opens the
// connection on which it claims: its lock must be there before the claim.
func (s *source) acquire(ctx context.Context, attempt pglease.Attempt, ttl time.Duration) (*session, error) {
	look, err := s.ob.chain.Look(ctx, s.ob.pool, s.cfg.Group, attempt.Former)
	if err == nil && look.Held != nil {
		if look.Changing {
			look.Held.Remaining = switchPoll
		}
		err = look.Held
	}
	if err == nil && look.Gone {
		err = s.bury(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	writer, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	lease, topics, err := s.claim(ctx, writer, attempt, ttl)
	if err != nil {
		pglog.Close(ctx, writer)
		return nil, err
	}
	var n *session
	if err = s.changeTopics(ctx, writer, lease, topics); err != nil {
		pglog.Close(ctx, writer)
	} else {
		n, err = s.open(ctx, writer, lease, attempt)
	}
	if err != nil {
		log := s.ob.cfg.Logger.With(slog.String("group", s.cfg.Group), slog.Int("slot", int(lease.Slot.No)))
		s.ob.leases.GiveBack(ctx, s.ob.pool, lease, log)
	}
	return n, err
}

// Wakes implements driver.Source: commits announced by this process and, while a listening
// session runs, by others.
func (s *source) Wakes(ctx context.Context) <-chan struct{} {
	c := s.ob.bell.listen(ctx)
	s.subscribe(ctx, c)
	return c
}

var errAsyncCommit = fmt.Errorf("%w: synchronous_commit is off, messages would be published before they are durable: switch it on, or allow async commits", outbox.ErrNotDurable)

// unusable marks the errors that trying again cannot fix and that could lose
// messages if they were ignored.
func unusable(err error) error {
	return pglog.Unusable(err,
		outbox.ErrNotMigrated, pgmigrate.ErrEncoding, errAsyncCommit, errPooled, errStartUnstated, errPosition,
		outbox.ErrRowSecurity, pgwindow.ErrSequenceCache, pgwindow.ErrSequencePrivilege)
}
