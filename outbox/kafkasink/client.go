package kafkasink

import (
	"context"
	"fmt"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// metadataMinAge is how soon a client asks again if a partition has moved.
// The library's own 5 s would use up a whole publish timeout.
const metadataMinAge = 250 * time.Millisecond

// options returns the options of every client: defaults that Config.Options may change,
// Config.Options, and those that they may not change. See design 6.1.
func (s *Sink) options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ClientID("leat"),
		kgo.MetadataMinAge(metadataMinAge),
		kgo.ProducerBatchCompression(s.cfg.Compression, kgo.NoCompression()),
	}
	opts = append(opts, s.signIn...)
	opts = append(opts, s.cfg.Options...)
	if s.cfg.AllowAutoTopicCreation {
		opts = append(opts, kgo.AllowAutoTopicCreation())
	}
	opts = append(opts, s.transaction...)
	return append(opts,
		kgo.SeedBrokers(s.brokers...),
		// Otherwise closing would wait up to a second for a last report to the cluster.
		kgo.DisableClientMetrics(),
		kgo.WithHooks(&s.conn, &s.placing),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ManualFlushing(),
		kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.MaxBufferedBytes(0),
		// The client never gives up a record: the end of Send's context closes it.
		kgo.RecordRetries(math.MaxInt),
		kgo.RecordDeliveryTimeout(0),
		kgo.UnknownTopicRetries(-1),
		kgo.StopProducerOnDataLossDetected(),
		kgo.BrokerMaxWriteBytes(maxRequestBytes),
		kgo.ProducerBatchMaxBytesFn(s.topics.batchBytes),
		kgo.RecordPartitioner(s.partitioner),
	)
}

// refuse names the first option of client that would break the guarantees and
// that no later option can undo.
func refuse(client *kgo.Client) error {
	const field = "Options"
	if id, _ := client.OptValue(kgo.TransactionalID).(string); id != "" {
		return outbox.ConfigError(field, "kgo.TransactionalID", "is not supported")
	}
	for _, o := range [...]struct {
		name string
		opt  any
	}{
		{"kgo.DisableIdempotentWrite", kgo.DisableIdempotentWrite},
		{"kgo.AllowIdempotentProduceCancellation", kgo.AllowIdempotentProduceCancellation},
		{"kgo.DefaultProduceTopicAlways", kgo.DefaultProduceTopicAlways},
	} {
		if on, _ := client.OptValue(o.opt).(bool); on {
			return outbox.ConfigError(field, o.name, "would break the order of records or where they go")
		}
	}
	if ctx, _ := client.OptValue(kgo.WithContext).(context.Context); ctx != nil && ctx.Done() != nil {
		return outbox.ConfigError(field, "kgo.WithContext", "its end would cut off a send that a stopping relay waits for")
	}
	if group, _ := client.OptValue(kgo.ConsumerGroup).(string); group != "" {
		return outbox.ConfigError(field, "kgo.ConsumerGroup", "this client only produces")
	}
	if len(client.GetConsumeTopics()) > 0 {
		return outbox.ConfigError(field, "kgo.ConsumeTopics", "this client only produces")
	}
	return nil
}

// open creates a client if there is none. It does not connect yet.
func (s *Sink) open() error {
	if s.client != nil && !s.ended.Load() {
		return nil
	}
	s.conn.last.Store(nil)
	client, err := kgo.NewClient(s.options()...)
	if err != nil {
		return fmt.Errorf("leat: kafka client: %w", err)
	}
	ended := new(atomic.Bool)
	s.client, s.ended = client, ended
	s.end = sync.OnceFunc(func() {
		ended.Store(true)
		client.Close()
	})
	return nil
}

// guard closes the client if ctx ends before done is called: a request does not end with its
// context while the client waits for the first answers of a broker. open then creates another
// client.
func (s *Sink) guard(ctx context.Context) (done func()) {
	end := s.end
	stop := context.AfterFunc(ctx, end)
	return func() {
		if !stop() {
			end()
		}
	}
}

// drop closes the client with all that it holds. Afterwards the cluster is asked about topics again.
func (s *Sink) drop() {
	if s.client == nil {
		return
	}
	s.end()
	s.client = nil
	s.topics.forget()
	s.page = page{format: s.cfg.Format, untimely: s.page.untimely}
}

// connErrors remembers why connections fail. The errors of records do not show it, since the
// client retries until it is closed.
type connErrors struct {
	last atomic.Pointer[error]
}

var (
	_ kgo.HookBrokerConnect = (*connErrors)(nil)
	_ kgo.HookBrokerRead    = (*connErrors)(nil)
)

// OnBrokerConnect notes a connection that failed, and forgets earlier failures
// when one succeeds.
func (c *connErrors) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	c.note(err)
}

// OnBrokerRead notes a connection that broke.
func (c *connErrors) OnBrokerRead(_ kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	c.note(err)
}

func (c *connErrors) note(err error) {
	if err == nil {
		if c.last.Load() != nil {
			c.last.Store(nil)
		}
		return
	}
	c.last.Store(&err)
}

// unreachable adds the name of the cluster to err if its brokers cannot be reached: then it is
// not just the topic that is out.
func (s *Sink) unreachable(err error) error {
	if s.conn.last.Load() == nil {
		return err
	}
	return s.conn.explain(fmt.Errorf("leat: kafka at %v does not answer: %w", s.brokers, err))
}

// explain adds the last failure of a connection to err.
func (c *connErrors) explain(err error) error {
	if last := c.last.Load(); last != nil {
		return fmt.Errorf("%w (last connection error: %w)", err, *last)
	}
	return err
}
