package relay

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Config tunes a Relay. The zero value is a good start.
type Config struct {
	// PageSize is the largest number of records in one call of Sink.Send, 1 to
	// 100,000. Larger pages drain a backlog faster, and a crash repeats more of them.
	// Defaults to 5,000.
	PageSize int

	// PageBytes is the size that a page should have in payloads, keys and headers, 1 KiB to 1
	// GiB: the relay asks for fewer records than PageSize if those before were large. It is a
	// target; the Source sets the hard limit of a page (pgoutbox: 32 MiB and one record).
	// Defaults to 2.5 MiB.
	PageBytes int

	// Expect is the place of the outbox. A relay that reaches another place refuses to start, or
	// to begin another term: it has reached a copy, or its address is wrong. Empty fields are not
	// compared. Defaults to any place.
	Expect driver.Place

	// ReadAhead is the number of pages that are read while one awaits its
	// acknowledgements, 0 to 64. Memory is bounded by ReadAhead + 2 pages. Defaults to 1;
	// NoReadAhead (-1) means none.
	ReadAhead int

	// Lease is how long the relay may hold its slot without renewing the lease. It renews
	// it every third of Lease, or sooner if a send would have to wait
	// for that. A replica takes over within Lease of a crash,
	// or at once if the Source notices that the session has ended.
	// Must exceed PublishTimeout + LeaseMargin. Defaults to 15 s.
	Lease time.Duration

	// PublishTimeout bounds one call of Sink.Send. A send never starts with less
	// than this left on the lease. Defaults to 5 s.
	PublishTimeout time.Duration

	// LeaseMargin is the part of each lease that is reserved for clocks that run at different
	// speeds and for the delay between a deadline and its effect. Defaults to 1 s.
	LeaseMargin time.Duration

	// PollMin is the shortest wait between two reads of an idle outbox, and PollMax the longest:
	// the wait doubles while there is nothing new, jittered by a half. A wake cuts it short.
	// Defaults to 2 ms and 1 s.
	PollMin, PollMax time.Duration

	// BackoffMin and BackoffMax bound the wait after a failure: it doubles with
	// each failure in a row, jittered by a half. Defaults to 50 ms and 5 s.
	BackoffMin, BackoffMax time.Duration

	// DrainTimeout bounds what Run does after its context has ended: it waits for
	// the acknowledgements of the page that was sent, stores the position and releases the
	// lease. A quarter of the time is kept for the release. Defaults to 10 s.
	DrainTimeout time.Duration

	// AllowedTopics are patterns of the topics that the relay sends to, at most 1,000; * stands
	// for any run of characters. Producers choose topics. A record of another topic never reaches
	// the sink: it cannot be delivered (outbox.FailurePermanent), and Policies decide about it. A
	// redrive sends it once the topic is allowed. A source's own Topics differ: records that they
	// leave out are skipped silently, for another group to send. Defaults to all topics.
	AllowedTopics []string

	// Policies decide about records that cannot be delivered; the first whose Topics match the
	// record's topic applies. They need a Source whose sessions are Holders; without one a record
	// that cannot be delivered holds back everything behind it. Defaults to Park after 10
	// attempts for all topics.
	Policies []Policy

	// TotalOrder delivers one record after another in the order of the log, whatever their
	// keys. If a record cannot be delivered, the relay stops until it can be: the only
	// Action is Block. It needs a Source with one slot.
	// Defaults to false: the records of one topic and key in the order of their commits;
	// different keys do not wait for one another.
	TotalOrder bool

	// MaxHeld bounds the records that one slot has set aside, 1 to 100,000,000. Beyond it nothing
	// more is set aside: the relay stops at the page and raises AlarmHeldCap. Records that were
	// set aside before the relay took the lease count as one per key. Defaults to 100,000.
	MaxHeld int

	// SuspectKeys is the number of different keys of one topic that must fail for unknown
	// reasons, with no success between them, before the relay considers the topic out, 2 to
	// 1,000. Until it answers again, one record at a time is tried. Defaults to 5.
	SuspectKeys int

	// SLO is the age from which an undelivered record raises an alarm: AlarmStuck while its
	// destination answers, otherwise AlarmLag. Defaults to 5 m.
	SLO time.Duration

	// AdoptPosition lets a TransactionalSink that has no position of a slot begin at the position
	// of the source. Set it once: when a group that was relayed through another sink moves to
	// this one, for new slots after their number was changed, or after an operator has removed
	// the sink's position because the source moved back or to another place. If the sink has lost
	// its position, AdoptPosition causes repeats, so switch it off again. Other sinks ignore it.
	// Defaults to false: a missing position ends Run.
	AdoptPosition bool

	// Logger receives messages for operators. Defaults to slog.Default() as of New, limited to
	// warnings and errors, their ends, and changes of the leader, with the outbox and the group
	// of leat's own sources; slog.New(slog.DiscardHandler) turns it off. Warnings and errors are
	// limited to one line per cause and minute.
	Logger *slog.Logger

	// Hooks observe the relay, by the interfaces called …Hook of this package. A relay
	// calls one at a time. Defaults to none.
	Hooks []outbox.Hook
}

// NoReadAhead is the Config.ReadAhead of a relay that does not read pages while it sends one.
const NoReadAhead = -1

func (c Config) withDefaults() Config {
	c.PageSize = cmp.Or(c.PageSize, 5000)
	c.PageBytes = cmp.Or(c.PageBytes, 5<<19)
	c.ReadAhead = cmp.Or(c.ReadAhead, 1)
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.PublishTimeout = cmp.Or(c.PublishTimeout, 5*time.Second)
	c.LeaseMargin = cmp.Or(c.LeaseMargin, time.Second)
	c.PollMin = cmp.Or(c.PollMin, 2*time.Millisecond)
	c.PollMax = cmp.Or(c.PollMax, time.Second)
	c.BackoffMin = cmp.Or(c.BackoffMin, 50*time.Millisecond)
	c.BackoffMax = cmp.Or(c.BackoffMax, 5*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	c.MaxHeld = cmp.Or(c.MaxHeld, 100_000)
	c.SuspectKeys = cmp.Or(c.SuspectKeys, 5)
	c.SLO = cmp.Or(c.SLO, 5*time.Minute)
	c.AllowedTopics, c.Policies = slices.Clone(c.AllowedTopics), slices.Clone(c.Policies)
	for i := range c.Policies {
		c.Policies[i] = c.Policies[i].withDefaults()
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.PageSize < 1 || c.PageSize > 100_000 {
		return outbox.ConfigError("PageSize", c.PageSize, "must be 1 to 100000")
	}
	if c.PageBytes < 1<<10 || c.PageBytes > 1<<30 {
		return outbox.ConfigError("PageBytes", c.PageBytes, "must be 1024 to 1073741824")
	}
	if c.ReadAhead < NoReadAhead || c.ReadAhead > 64 {
		return outbox.ConfigError("ReadAhead", c.ReadAhead, "must be -1 to 64")
	}
	if err := c.validateTimes(); err != nil {
		return err
	}
	if err := c.validateFailures(); err != nil {
		return err
	}
	return c.validateHooks()
}

func (c Config) validateFailures() error {
	if c.MaxHeld < 1 || c.MaxHeld > 100_000_000 {
		return outbox.ConfigError("MaxHeld", c.MaxHeld, "must be 1 to 100000000")
	}
	if c.SuspectKeys < 2 || c.SuspectKeys > 1000 {
		return outbox.ConfigError("SuspectKeys", c.SuspectKeys, "must be 2 to 1000")
	}
	if err := c.validateAllowed(); err != nil {
		return err
	}
	return c.validatePolicies()
}

func (c Config) validateTimes() error {
	for _, f := range [...]struct {
		name  string
		value time.Duration
	}{
		{"Lease", c.Lease},
		{"PublishTimeout", c.PublishTimeout},
		{"LeaseMargin", c.LeaseMargin},
		{"PollMin", c.PollMin},
		{"BackoffMin", c.BackoffMin},
		{"DrainTimeout", c.DrainTimeout},
		{"SLO", c.SLO},
	} {
		if f.value < 0 {
			return outbox.ConfigError(f.name, f.value, "must not be negative")
		}
	}
	if c.Lease <= c.PublishTimeout+c.LeaseMargin {
		return outbox.ConfigError("Lease", c.Lease, fmt.Sprintf(
			"must exceed PublishTimeout %s + LeaseMargin %s", c.PublishTimeout, c.LeaseMargin))
	}
	if c.PollMax < c.PollMin {
		return outbox.ConfigError("PollMax", c.PollMax, fmt.Sprintf("must not be below the shortest wait, %s", c.PollMin))
	}
	if c.BackoffMax < c.BackoffMin {
		return outbox.ConfigError("BackoffMax", c.BackoffMax, fmt.Sprintf("must not be below the shortest wait, %s", c.BackoffMin))
	}
	return nil
}

// renewEvery is the time between two renewals: a third of the lease, or less if a send,
// which needs PublishTimeout of the lease, could not start between them. It is at least a
// thirtieth of the lease, so that an odd configuration does not hammer the source.
func (c Config) renewEvery() time.Duration {
	return max(min(c.Lease/3, c.Lease-c.PublishTimeout-c.LeaseMargin), c.Lease/30)
}

// backoff returns a wait between failures that doubles from BackoffMin to BackoffMax.
func (c Config) backoff() jitter.Backoff {
	return jitter.Backoff{Min: c.BackoffMin, Max: c.BackoffMax}
}
