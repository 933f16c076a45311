package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/hostport"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	errClosed = fmt.Errorf("%w: the Kafka sink", outbox.ErrClosed)

	errTooLarge = errors.New("leat: record is too large")

	errUntimely = errors.New("leat: kafka refuses the time of now, too: compare this process's clock with the brokers', and look at the topic's message.timestamp.before.max.ms and .after.max.ms")
)

// Sink delivers records to Kafka. It is safe for concurrent use; its methods
// wait for each other.
type Sink struct {
	brokers     []string
	cfg         Config
	signIn      []kgo.Opt // see the function signIn
	transaction []kgo.Opt // set in the Sink of a Transactional
	partitioner *partitioner
	conn        connErrors
	placing     placing

	mu     sync.Mutex // locked by every method; guards what follows
	closed bool
	client *kgo.Client // nil after a failure
	end    func()      // closes the client, once
	ended  *atomic.Bool
	topics *topics
	page   page

	awaitFrom time.Time // until then no Send waits for a missing topic
}

var (
	_ driver.Sink         = (*Sink)(nil)
	_ driver.Borrower     = (*Sink)(nil)
	_ driver.Checker      = (*Sink)(nil)
	_ driver.TopicChecker = (*Sink)(nil)
)

// Borrows implements driver.Borrower: when the client has answered for a record, it is in Kafka,
// and the client no longer uses it.
func (*Sink) Borrows() {}

// New returns a Sink that finds its cluster through brokers, which are host:port.
// It does not connect: Check does, or the first Send. The error wraps
// outbox.ErrInvalidConfig. The caller must Close the Sink.
func New(brokers []string, cfg Config) (*Sink, error) {
	cfg = cfg.withDefaults()
	if len(brokers) == 0 {
		return nil, outbox.ConfigError("brokers", brokers, "must name at least one")
	}
	if address, reason, refused := hostport.Refuse(brokers); refused {
		return nil, outbox.ConfigError("brokers", strconv.Quote(address), reason)
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Sink{
		brokers:     slices.Clone(brokers),
		cfg:         cfg,
		partitioner: newPartitioner(cfg.Partitioner),
		topics:      newTopics(cfg.MaxMessageBytes),
		page:        page{format: cfg.Format},
	}
	if err := s.open(); err != nil {
		return nil, outbox.ConfigError("Options", len(cfg.Options), err.Error())
	}
	if err := refuse(s.client); err != nil {
		s.end()
		return nil, err
	}
	if s.signIn = signIn(s.client); len(s.signIn) > 0 {
		s.end()
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	if cfg.Format == FormatWatermill && cfg.Partitioner == PartitionJava {
		cfg.Logger.Warn("records look like watermill-kafka's, but their keys choose other partitions than there: " +
			"in a topic that both write, a key has no order; the partitioner of sarama chooses the same")
	}
	return s, nil
}

// Check connects to the cluster and returns an error if that fails. It is for the start of a
// program and for health checks.
func (s *Sink) Check(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	defer s.guard(ctx)()
	if err := s.client.Ping(ctx); err != nil {
		return s.conn.explain(fmt.Errorf("leat: kafka at %v: %w", s.brokers, err))
	}
	return nil
}

// Close waits for a running Send, which its context bounds, and closes all connections. It always
// returns nil; more calls do nothing.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.drop()
	return nil
}
