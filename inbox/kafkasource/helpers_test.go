package kafkasource_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// patience bounds what a test waits for; none of them measures time.
const patience = time.Minute

// brisk makes a group of a test quick. Six seconds is the least that brokers allow.
func brisk() kafkasource.Config {
	return kafkasource.Config{
		SessionTimeout: 6 * time.Second, CommitInterval: 50 * time.Millisecond,
		RedeliverDelay: 5 * time.Millisecond, MaxRedeliverDelay: 50 * time.Millisecond,
	}
}

func newSubscriber(t *testing.T, addrs []string, group string, cfg kafkasource.Config) *kafkasource.Subscriber {
	t.Helper()
	s, err := kafkasource.NewSubscriber(addrs, group, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func subscribe(t *testing.T, s *kafkasource.Subscriber, topic string) <-chan *message.Message {
	t.Helper()
	msgs, err := s.Subscribe(t.Context(), topic)
	require.NoError(t, err)
	return msgs
}

// receive returns the next message.
func receive(t *testing.T, msgs <-chan *message.Message) *message.Message {
	t.Helper()
	select {
	case msg, ok := <-msgs:
		require.True(t, ok, "the channel is closed")
		return msg
	case <-time.After(patience):
		require.Fail(t, "no message")
		return nil
	}
}

// await waits until ch is closed or has something.
func await[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.Fail(t, "did not happen: "+what)
		panic("unreachable")
	}
}

// client returns a client to produce and administrate with.
func client(t *testing.T, addrs []string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// record returns a record of one partition with an id, and a key unless that is
// empty.
func record(topic string, partition int32, id, key string) *kgo.Record {
	r := &kgo.Record{
		Topic: topic, Partition: partition, Value: []byte(id),
		Headers: []kgo.RecordHeader{{Key: outbox.HeaderWatermillUUID, Value: []byte(id)}},
	}
	if key != "" {
		r.Key = []byte(key)
	}
	return r
}

// fill writes n records, called 0 to n−1, with keys in turns, to partition 0.
func fill(t *testing.T, env *testenv.KafkaEnv, topic string, n, keys int) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		key := ""
		if keys > 0 {
			key = "k" + strconv.Itoa(i%keys)
		}
		records[i] = record(topic, 0, strconv.Itoa(i), key)
	}
	require.NoError(t, client(t, env.Brokers).ProduceSync(t.Context(), records...).FirstErr())
}

// committed returns the group's offset of a partition, −1 where it has none.
func committed(t *testing.T, addrs []string, group, topic string, partition int32) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(client(t, addrs)).FetchOffsets(t.Context(), group)
	require.NoError(t, err)
	if o, ok := offsets.Lookup(topic, partition); ok {
		return o.At
	}
	return -1
}

// partitions is a hook that tells what happens to partitions.
type partitions struct {
	mu      sync.Mutex
	history []driver.SourceEvent
	changed chan struct{}
}

func newPartitions() *partitions { return &partitions{changed: make(chan struct{})} }

// OnDriverSource implements driver.SourceHook.
func (p *partitions) OnDriverSource(_ context.Context, change driver.SourceEvent) {
	if change.Attempt > 0 { // a delivery
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history = append(p.history, change)
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until there were n changes of a kind and returns the last.
func (p *partitions) await(t *testing.T, want string, n int) driver.SourceEvent {
	t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		seen, changed := 0, p.changed
		var last driver.SourceEvent
		for _, c := range p.history {
			if c.Kind == want {
				seen++
				last = c
			}
		}
		p.mu.Unlock()
		if seen >= n {
			return last
		}
		select {
		case <-changed:
		case <-deadline:
			require.Fail(t, "partitions did not change", "%d times %s, want %d", seen, want, n)
		}
	}
}

// deliveries is a hook that counts how deliveries end.
type deliveries struct {
	mu     sync.Mutex
	counts map[string]int
}

// OnDriverSource implements driver.SourceHook.
func (d *deliveries) OnDriverSource(_ context.Context, delivery driver.SourceEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts == nil {
		d.counts = make(map[string]int)
	}
	d.counts[delivery.Kind]++
}

func (d *deliveries) count(kind string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[kind]
}
