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
	// Options are applied to every client that the Subscriber creates: TLS, SASL, client id,
	// rack, dialer, hooks, logger, fetch sizes, balancers, isolation level. They are used again
	// after a lost session, so they must be reusable. Options that the guarantees rest on
	// (commits, callbacks and timeouts of the group) are overridden; those that cannot be, such
	// as a group instance id, are refused. Defaults to none; records of open and aborted
	// transactions are not read.
	Options []kgo.Opt

	// NoGroup makes every subscription read all partitions of its topic. This is for caches and
	// for messages that every instance of a service must see. The subscription belongs to no
	// group and commits nothing: each subscription begins where StartNewest or Seek says, also
	// after a restart. NewSubscriber then takes an empty group. New partitions are noticed within
	// a fifteenth of SessionTimeout. Defaults to false.
	NoGroup bool

	// StartNewest begins a partition for which the group has no offset at its end: messages
	// written before the group's first member joined are never read. Without a group it applies
	// to the partitions that exist at the start; later ones begin with their oldest message.
	// Defaults to false: the partition begins with its oldest message.
	StartNewest bool

	// NewTopic has the settings of topics that SubscribeInitialize creates. Defaults to
	// those of the cluster.
	NewTopic NewTopic

	// Seek decides where reading begins, for example at an offset that is kept in a database: it
	// is the method Assigned of a driver.Assigner. It is called with all newly assigned
	// partitions, before anything is read from them. It returns the offset at which each of them
	// begins, in their order; From is where reading would begin without it. Seek delays the
	// assignment, so it should take seconds at most; ctx ends when the assignment is withdrawn.
	// After an error the member gives up all its partitions and joins again. Defaults to none:
	// the group's offsets decide.
	Seek func(ctx context.Context, assigned []driver.Assignment) ([]int64, error)

	// Marks is the inbox of the handlers, such as a *pginbox.Inbox or a *sqlinbox.Inbox. It lets
	// the group notice that its database went back in time: by a failover that lost commits, a
	// restored backup, or a recovery to a point in time. Before the group's offsets are committed
	// to the broker they are recorded in the database, by one statement. If the group's offset is
	// beyond the recorded one, the effects of the messages between them are lost: reading begins
	// at the recorded offset, which is logged and reported to Hooks. The same is checked each
	// fifteenth of SessionTimeout, and after a delivery that failed before anything else is
	// delivered, since later messages of a key must not overtake those that were lost. An offset
	// that was committed by other means, such as kafka-consumer-groups, is used unchanged. A database without records of a group that has
	// recorded offsets is refused: the member logs an error and joins again until an operator has
	// acted. Marks cannot be combined with NoGroup or Seek. Defaults to none: a database that
	// went back is not noticed. See docs/moves.md.
	Marks driver.Marker

	// MarksReportOnly makes the member continue at the group's offset and only report it, if
	// Marks would begin elsewhere or refuse. Defaults to false.
	MarksReportOnly bool

	// Check is called each fifteenth of SessionTimeout, to check that acknowledged messages are
	// still remembered. So a failover that has lost commits is also noticed on partitions without
	// new messages. It gets the last acknowledged position of each partition, in serial sessions
	// only. After an error that wraps driver.ErrGap or driver.ErrNotAssigned the member joins
	// again, which asks Seek; others are logged. Defaults to none.
	Check func(ctx context.Context, acked []driver.Position) error

	// Concurrency is the most messages of one partition that handlers process at the same time. 1
	// is serial: the next message is delivered when the one before it is acknowledged, whatever
	// their keys. RunBatches ignores it. Defaults to 16.
	Concurrency int

	// KeylessConcurrent allows messages without a key to be handled concurrently. Handlers must
	// allow it: if two of them read a value, add to it and write it back without a lock, one of
	// the sums is lost. RunBatches ignores it. Defaults to false: a partition's messages without
	// a key are handled one at a time, in order, and one that fails holds up the later ones.
	KeylessConcurrent bool

	// MaxInFlight is the most messages of one subscription, over all its partitions, that
	// handlers process at the same time. RunBatches ignores it. Defaults to 64, or Concurrency if
	// that is more.
	MaxInFlight int

	// MaxBuffered is how many messages of one partition may be in memory before the
	// partition is paused. It is checked after a poll, which can bring 500 more. Defaults
	// to 1,000.
	MaxBuffered int

	// MaxBufferedBytes is like MaxBuffered, in bytes of keys, values and headers. Defaults to 8
	// MiB.
	MaxBufferedBytes int

	// MaxAhead is how many messages of a partition may be acknowledged above one that is not. It
	// bounds the number of messages that a crash repeats, and how far the other keys of a
	// partition advance while one key fails. Defaults to 10,000.
	MaxAhead int

	// BatchSize is the most messages that RunBatches passes at once. Defaults to 100.
	BatchSize int

	// Unmarshal converts a record to a message. It gets the same record again for every attempt
	// and must return a new message. It is called concurrently. Defaults to Unmarshal.
	Unmarshal func(r *kgo.Record) (*message.Message, error)

	// Malformed is called for a record that Unmarshal refuses, with its error. If it returns nil,
	// the record counts as acknowledged: store it before. After an error it is tried again later,
	// and until then holds up the same messages as a nack. Defaults to returning the error, so
	// that nothing is skipped.
	Malformed func(ctx context.Context, r *kgo.Record, err error) error

	// RedeliverDelay is the delay before a nacked message is delivered again, jittered by a
	// quarter, and doubled with each nack up to MaxRedeliverDelay. Messages of other keys do not
	// wait. Defaults to 100 ms.
	RedeliverDelay time.Duration

	// MaxRedeliverDelay bounds the delay.
	// Defaults to 10 s, or RedeliverDelay if that is more.
	MaxRedeliverDelay time.Duration

	// CommitInterval is how often offsets are committed. Messages acknowledged after the last
	// commit are delivered again after a crash. Defaults to 1 s.
	CommitInterval time.Duration

	// SessionTimeout is how long the group waits for a sign of life before it gives
	// the member's partitions to others. The brokers bound it, by default to 6 s to
	// 30 min. The member itself gives up after four fifths of it. Defaults to 45 s.
	SessionTimeout time.Duration

	// DrainTimeout is how long handlers may continue when their partition is revoked in a
	// rebalance or the Subscriber is closed; then their contexts end. It holds up the group's
	// rebalance, and may be a third of SessionTimeout at most. Defaults to 10 s, or a third of
	// SessionTimeout if that is less.
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
