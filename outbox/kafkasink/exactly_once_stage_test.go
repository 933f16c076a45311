package kafkasink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// stage is an outbox in memory, which relay processes reach at address, and two
// topics on a real broker.
type stage struct {
	t       *testing.T
	ob      *memoutbox.Outbox
	source  *watchedSource
	address string
	brokers []string
	prefix  string
	topics  []string
	written atomic.Int64
	// calm relays have time: what fails is the broker, which may be slow to come back.
	calm bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	kafka := testenv.RealKafka(t)
	s := &stage{t: t, brokers: kafka.Brokers, prefix: kafka.Prefix}
	s.topics = []string{kafka.Topic(t, "orders", 3), kafka.Topic(t, "mail", 1)}
	s.open()
	return s
}

func (s *stage) open() {
	s.t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(s.t, err)
	s.ob = ob
	s.source = &watchedSource{Source: ob.Source(memoutbox.SourceConfig{}), settled: &settledSet{seqs: map[int64]struct{}{}}}
	s.address = serve(s.t, s.source)
}

// write commits n messages, a few in a transaction, over both topics and six keys; a
// fifth have no key.
func (s *stage) write(n int) {
	s.t.Helper()
	for n > 0 {
		batch := make([]outbox.Message, min(n, 3))
		for i := range batch {
			no := s.written.Add(1)
			batch[i] = outbox.Message{ID: fmt.Sprint("m", no), Topic: s.topics[no%2], Payload: fmt.Appendf(nil, "%d", no)}
			if no%5 > 0 {
				batch[i].Key = fmt.Sprint("key-", no%6)
			}
		}
		require.NoError(s.t, s.ob.InTx(s.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
			return s.ob.Enqueue(ctx, tx, batch...)
		}))
		n -= len(batch)
	}
}

// hugeBytes is the size of a message that limit can keep out.
const hugeBytes = 100 << 10

// writeHuge commits one large message.
func (s *stage) writeHuge() {
	s.t.Helper()
	no := s.written.Add(1)
	require.NoError(s.t, s.ob.InTx(s.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return s.ob.Enqueue(ctx, tx, outbox.Message{ID: fmt.Sprint("m", no), Topic: s.topics[0], Key: "key-1", Payload: make([]byte, hugeBytes)})
	}))
}

// limit sets the size of the messages that the first topic takes.
func (s *stage) limit(n int) {
	s.t.Helper()
	limit := strconv.Itoa(n)
	responses, err := s.admin().AlterTopicConfigs(s.t.Context(),
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &limit}}, s.topics[0])
	require.NoError(s.t, err)
	for _, r := range responses {
		require.NoError(s.t, r.Err)
	}
}

func (s *stage) admin() *kadm.Client {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...))
	require.NoError(s.t, err)
	s.t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func (s *stage) createTopics() {
	s.t.Helper()
	_, err := s.admin().CreateTopics(s.t.Context(), 2, 1, nil, s.topics...)
	require.NoError(s.t, err)
}

// sink returns a transactional sink that is closed when the test ends.
func (s *stage) sink(opts ...kgo.Opt) *kafkasink.Transactional {
	s.t.Helper()
	cfg := transactionalConfig(s.prefix)
	cfg.Options = opts
	sink, err := kafkasink.NewTransactional(s.brokers, cfg)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = sink.Close() }) // it always returns nil
	return sink
}

// start runs a relay in the background until the returned function is called.
func (s *stage) start(sink driver.Sink, hooks ...outbox.Hook) (stop func()) {
	s.t.Helper()
	cfg := fastTakeover()
	if s.calm {
		cfg.Lease, cfg.PublishTimeout, cfg.LeaseMargin = 30*time.Second, 10*time.Second, 0
	}
	cfg.Hooks = hooks
	r, err := relay.New(s.source, sink, cfg)
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	s.t.Cleanup(cancel)
	return func() {
		cancel()
		require.NoError(s.t, <-done)
	}
}

// plain returns a sink that delivers at least once.
func (s *stage) plain() *kafkasink.Sink {
	s.t.Helper()
	return newSink(s.t, s.brokers, kafkasink.Config{})
}

// finish relays what is left, once the lease is free.
func (s *stage) finish() {
	s.t.Helper()
	s.finishWith(s.sink())
}

func (s *stage) finishWith(sink driver.Sink) {
	s.t.Helper()
	ctx := within(s.t, 2*patience)
	cfg := fastTakeover()
	cfg.PageSize = 1000
	r, err := relay.New(s.source, sink, cfg)
	require.NoError(s.t, err)
	for {
		_, err := r.RunOnce(ctx)
		if err == nil {
			return
		}
		held, ok := errors.AsType[*driver.LeaseHeldError](err)
		require.True(s.t, ok, "%v", err)
		select {
		case <-time.After(held.Remaining):
		case <-ctx.Done():
			require.NoError(s.t, ctx.Err())
		}
	}
}

// settled is the number of messages that the outbox counts as settled.
func (s *stage) settled() int64 { return s.source.settled.count() }

// awaitSettled waits until n messages are settled.
func (s *stage) awaitSettled(n int64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.settled() >= n }, 4*patience, 10*time.Millisecond)
}

// awaitCommitted waits until readers of committed records see n. A relay does not
// settle what it was not told of; it finds it committed.
func (s *stage) awaitCommitted(n int) {
	s.t.Helper()
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	ctx := within(s.t, 4*patience)
	for len(readCommittedNow(s.t, s.brokers, s.topics...)) < n {
		select {
		case <-pause.C:
		case <-ctx.Done():
			require.NoError(s.t, ctx.Err())
		}
	}
}

// await waits until n offsets are in the topics.
func (s *stage) await(n int64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.appended() >= n }, 2*patience, 20*time.Millisecond)
}

// appended is the number of offsets in the topics, marks of transactions included.
func (s *stage) appended() (n int64) {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...))
	require.NoError(s.t, err)
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(s.t.Context(), s.topics...)
	if err != nil {
		return 0
	}
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	return n
}

// verdict is what is wrong with what readers of committed records see.
type verdict struct {
	lost, twice, phantom, inverted int
}

// audit compares the topics with what was written.
func (s *stage) audit() verdict {
	s.t.Helper()
	var v verdict
	log := readCommitted(s.t, s.brokers, s.topics...)
	seqs, last, seen := map[string]int64{}, map[string]int64{}, map[string]int{}
	for _, r := range s.ob.Committed() {
		seqs[r.ID] = r.Seq
	}
	for _, r := range log {
		id := idOf(r)
		seq, ok := seqs[id]
		if !ok {
			v.phantom++
			continue
		}
		if seen[id]++; seen[id] > 1 {
			v.twice++
			continue
		}
		lane := r.Topic + "/" + string(r.Key)
		if len(r.Key) > 0 && seq < last[lane] {
			v.inverted++
		}
		last[lane] = seq
	}
	v.lost = len(seqs) - len(seen)
	s.t.Logf("%d written, %d records in the log, %+v", len(seqs), len(log), v)
	return v
}

func idOf(r *kgo.Record) string {
	i := slices.IndexFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == outbox.HeaderEventID })
	if i < 0 {
		return ""
	}
	return string(r.Headers[i].Value)
}
