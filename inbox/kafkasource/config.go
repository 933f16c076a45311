package kafkasource

import (
	"context"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// Config tunes a Subscriber. The zero value is a good start.
type Config struct {
	// Options are applied to every client that the Subscriber makes, one after the
	// other: TLS, SASL, client id, rack, dialer, hooks, logger, fetch sizes,
	// balancers, isolation level. They are used again after a lost session, so they
	// must not hold what can be used once only. Options that the guarantees rest on
	// (commits, callbacks and timeouts of the group) are overridden; those that
	// cannot be, such as a group instance id, are refused. Defaults to none; records
	// of open and aborted transactions are not read.
	Options []kgo.Opt

	// NoGroup makes every subscription read all partitions of its topic by itself, as is
	// right for caches and for what every instance of a service must see. It belongs to
	// no group and commits nothing: each subscription begins where StartNewest or Seek says,
	// also after a restart. NewSubscriber then takes an empty group. New partitions are
	// noticed within a fifteenth of SessionTimeout. Defaults to false.
	NoGroup bool

	// StartNewest begins a partition for which the group has no offset with what is
	// written from now on. What was written before the group's first member came is
	// never read. Without a group it counts for the partitions that exist at the start;
	// later ones begin with their oldest message. Defaults to false: with the oldest
	// message that the partition holds.
	StartNewest bool

	// NewTopic has the settings of topics that SubscribeInitialize creates. Defaults to
	// those of the cluster.
	NewTopic NewTopic

	// Seek decides where reading begins, such as at an offset that is kept in a database: it
	// is the Assigned of a driver.Assigner. It is called when partitions are assigned, before
	// anything is read from them, with all of them. It returns the offset at which each of
	// them begins, in their order; From is where reading would begin without it. It delays the
	// assignment, so it should take seconds at most; ctx ends when the assignment is
	// withdrawn. After an error the member gives up all its partitions and joins again.
	// Defaults to none: the group's offsets decide.
	Seek func(ctx context.Context, assigned []driver.Assignment) ([]int64, error)

	// Marks is the inbox of the handlers, such as a *pginbox.Inbox or a *sqlinbox.Inbox, and makes the
	// group notice that its database went back: by a failover that lost commits, a restored backup,
	// a recovery to a point in time. Before the group's offsets are committed they are noted there, by
	// one statement. An offset beyond what is noted is of messages whose effects are lost: reading
	// begins where the database stands, which is logged and reported to Hooks. The same is looked at
	// each fifteenth of SessionTimeout. An offset that others have committed, such as
	// kafka-consumer-groups, counts as it is. A database that knows nothing of a group that has noted
	// its offsets is refused: the member logs an error and joins again until an operator has acted.
	// Not with NoGroup or Seek. Defaults to none: nobody notices. See docs/moves.md.
	Marks driver.Marker

	// MarksReportOnly goes on at the group's offset where Marks would begin elsewhere, or refuse, and
	// only reports it. Defaults to false.
	MarksReportOnly bool

	// Check is called each fifteenth of SessionTimeout, to check that what was
	// acknowledged is still remembered. So a failover that has lost commits is also
	// noticed on partitions on which nothing new arrives. It gets the last acknowledged
	// position of each partition, in serial sessions only. After an error that wraps
	// driver.ErrGap or driver.ErrNotAssigned the member joins again, which asks Seek;
	// others are logged.
	// Defaults to none.
	Check func(ctx context.Context, acked []driver.Position) error

	// Concurrency is how many messages of one partition can be in the hands of
	// handlers at the same time. 1 is serial: the next message comes when the one
	// before it is acknowledged, whatever their keys. Not for RunBatches.
	// Defaults to 16.
	Concurrency int

	// KeylessConcurrent lets messages without a key be handled side by side. Handlers
	// must allow it: if two of them read a value, add to it and write it back without a
	// lock, one sum is lost. Not for RunBatches. Defaults to false: a partition's
	// messages without a key are handled one at a time, in order, and one that fails
	// holds up the later ones.
	KeylessConcurrent bool

	// MaxInFlight is how many messages of one subscription, all its partitions
	// together, can be in the hands of handlers at the same time. Not for
	// RunBatches. Defaults to 64, or Concurrency if that is more.
	MaxInFlight int

	// MaxBuffered is how many messages of one partition may be in memory before the
	// partition is paused. It is checked after a poll, which can bring 500 more. Defaults
	// to 1,000.
	MaxBuffered int

	// MaxBufferedBytes is MaxBuffered in bytes of keys, values and headers.
	// Defaults to 8 MiB.
	MaxBufferedBytes int

	// MaxAhead is how many messages of a partition may be acknowledged above one
	// that is not. It bounds what a crash repeats, and how far the keys of a
	// partition go on while one of them fails. Defaults to 10,000.
	MaxAhead int

	// BatchSize is the most messages that RunBatches hands over at once.
	// Defaults to 100.
	BatchSize int

	// Unmarshal makes a message of a record. It gets the same record again for
	// every attempt and must return a new message. It is called concurrently.
	// Defaults to Unmarshal.
	Unmarshal func(r *kgo.Record) (*message.Message, error)

	// Malformed is called for a record that Unmarshal refuses, with its error. After
	// nil the record counts as acknowledged: store it before. After an error it is tried
	// again later, and until then holds up what a nack would. Defaults to returning the
	// error, so that nothing is skipped.
	Malformed func(ctx context.Context, r *kgo.Record, err error) error

	// RedeliverDelay is how long after a nack a message is delivered again, jittered
	// by a quarter, and doubled with each nack up to MaxRedeliverDelay. Messages of
	// other keys do not wait. Defaults to 100 ms.
	RedeliverDelay time.Duration

	// MaxRedeliverDelay bounds the delay.
	// Defaults to 10 s, or RedeliverDelay if that is more.
	MaxRedeliverDelay time.Duration

	// CommitInterval is how often offsets are committed. What was acknowledged since
	// is delivered again after a crash. Defaults to 1 s.
	CommitInterval time.Duration

	// SessionTimeout is how long the group waits for a sign of life before it gives
	// the member's partitions to others. The brokers bound it, by default to 6 s to
	// 30 min. The member itself gives up after four fifths of it. Defaults to 45 s.
	SessionTimeout time.Duration

	// DrainTimeout is how long handlers may go on when their partition is taken away
	// in a rebalance or the Subscriber is closed; then their contexts end. It holds
	// up the group's rebalance, and may be a third of SessionTimeout at most.
	// Defaults to 10 s, or a third of SessionTimeout if that is less.
	DrainTimeout time.Duration

	// Logger receives what an operator should know. Defaults to slog.Default() as of
	// New, warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger

	// Hooks observe the Subscriber, by driver.SourceHook. Defaults to none.
	Hooks []outbox.Hook
}

func (c Config) withDefaults() Config {
	setDefault(&c.Concurrency, 16)
	setDefault(&c.MaxInFlight, max(64, c.Concurrency))
	setDefault(&c.MaxBuffered, 1000)
	setDefault(&c.MaxBufferedBytes, 8<<20)
	setDefault(&c.MaxAhead, 10_000)
	setDefault(&c.BatchSize, 100)
	setDefault(&c.RedeliverDelay, 100*time.Millisecond)
	setDefault(&c.MaxRedeliverDelay, max(10*time.Second, c.RedeliverDelay))
	setDefault(&c.CommitInterval, time.Second)
	setDefault(&c.SessionTimeout, 45*time.Second)
	setDefault(&c.DrainTimeout, min(10*time.Second, c.SessionTimeout/3))
	if c.Unmarshal == nil {
		c.Unmarshal = Unmarshal
	}
	if c.Malformed == nil {
		c.Malformed = func(_ context.Context, _ *kgo.Record, err error) error { return err }
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
