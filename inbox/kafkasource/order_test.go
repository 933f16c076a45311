package kafkasource_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// ledger checks that of each key one message at a time is handled, in order.
type ledger struct {
	t       *testing.T
	keys    int
	mu      sync.Mutex
	next    map[string]int  // the number that the key waits for
	busy    map[string]bool // a handler has a message of the key
	most    int             // handlers at the same time
	now     int
	settled int
	done    chan struct{}
	total   int
}

func newLedger(t *testing.T, keys, total int) *ledger {
	t.Helper()
	return &ledger{t: t, keys: keys, total: total, next: map[string]int{}, busy: map[string]bool{}, done: make(chan struct{})}
}

func (l *ledger) begin(msg *message.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := msg.Metadata[outbox.HeaderKey]
	number, err := strconv.Atoi(msg.UUID)
	if err != nil || l.busy[key] || number/l.keys != l.next[key] {
		l.t.Errorf("key %s: message %d, waits for its %d., busy %v", key, number, l.next[key], l.busy[key])
	}
	l.busy[key] = true
	l.now++
	l.most = max(l.most, l.now)
}

func (l *ledger) end(msg *message.Message, acked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := msg.Metadata[outbox.HeaderKey]
	l.busy[key] = false
	l.now--
	if !acked {
		return
	}
	l.next[key]++
	if l.settled++; l.settled == l.total {
		close(l.done)
	}
}

// TestO5_KeysInOrderAt64: with 64 messages of a partition in flight and every
// third delivery nacked, a key's messages are handled one at a time and in order.
func TestO5_KeysInOrderAt64(t *testing.T) {
	t.Parallel()
	const total, keys = 2000, 100
	env := testenv.RealKafka(t)
	topic := env.Topic(t, "keys", 1)
	fill(t, env, topic, total, keys)
	cfg := brisk()
	cfg.Concurrency, cfg.MaxBuffered = 64, 300 // which pauses the partition, too
	l := newLedger(t, keys, total)
	together := make(chan struct{}) // 64 handlers have met
	var once sync.Once
	s := newSubscriber(t, env.Brokers, env.Name("group"), cfg)
	msgs := subscribe(t, s, topic)
	go func() {
		for msg := range msgs {
			go func() {
				l.begin(msg)
				l.mu.Lock()
				if l.most >= 64 {
					once.Do(func() { close(together) })
				}
				l.mu.Unlock()
				select {
				case <-together:
				case <-msg.Context().Done():
				}
				acked := rand.IntN(3) > 0
				l.end(msg, acked)
				if acked {
					msg.Ack()
				} else {
					msg.Nack()
				}
			}()
		}
	}()
	await(t, l.done, "all messages are handled")
	require.NoError(t, s.Close())
	require.Equal(t, 64, l.most)
	require.EqualValues(t, total, committed(t, env.Brokers, env.Name("group"), topic, 0))
}

// A4: TestKeyless_OneAtATime: handlers of services that were serial read, add and write.
// Messages without a key are not handled side by side, so that no sum is lost.
func TestKeyless_OneAtATime(t *testing.T) {
	t.Parallel()
	const total = 600
	env := testenv.Kafka(t)
	topic := env.Topic(t, "keyless", 1)
	fill(t, env, topic, total, 0)
	msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), brisk()), topic)
	var sum atomic.Int64
	done := make(chan struct{})
	go func() {
		for msg := range msgs {
			go func() { // as Watermill's router does
				read := sum.Load()
				runtime.Gosched()
				sum.Store(read + 1)
				msg.Ack()
				if msg.UUID == strconv.Itoa(total-1) {
					close(done)
				}
			}()
		}
	}()
	await(t, done, "all messages are handled")
	require.EqualValues(t, total, sum.Load())
}

// A4: TestKeyless_SideBySide where it is asked for.
func TestKeyless_SideBySide(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "keyless", 1)
	fill(t, env, topic, 4, 0)
	cfg := brisk()
	cfg.KeylessConcurrent = true
	msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), cfg), topic)
	var all []*message.Message
	for range 4 {
		all = append(all, receive(t, msgs))
	}
	for _, msg := range all {
		msg.Ack()
	}
}

// TestSerial: with Concurrency 1 the next message comes when the one before it is
// acked, whatever its key, and positions say so.
func TestSerial(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "serial", 1)
	fill(t, env, topic, 5, 5)
	cfg := brisk()
	cfg.Concurrency = 1
	msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), cfg), topic)
	for i := range 5 {
		for attempt := range 3 {
			msg := receive(t, msgs)
			require.Equal(t, strconv.Itoa(i), msg.UUID)
			p, ok := driver.PositionFrom(msg.Context())
			require.True(t, ok)
			require.True(t, p.Serial)
			require.EqualValues(t, i, p.Offset)
			require.EqualValues(t, i-1, p.Prev)
			if attempt < 2 {
				msg.Nack()
			} else {
				msg.Ack()
			}
		}
	}
}

// TestO7_APoisonedKeyHoldsUpNoOther: while a key fails for ever, the others go on,
// up to MaxAhead messages past it, and nothing above it is committed.
func TestO7_APoisonedKeyHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "poison", 1)
	fill(t, env, topic, 100, 10)
	cfg := brisk()
	cfg.MaxAhead = 50
	seen := &deliveries{}
	cfg.Hooks = []outbox.Hook{seen}
	s := newSubscriber(t, env.Brokers, env.Name("group"), cfg)
	msgs := subscribe(t, s, topic)
	acked, poisoned := 0, 0
	for acked < 50 || poisoned < 5 {
		msg := receive(t, msgs)
		if msg.UUID == "0" {
			poisoned++
			msg.Nack()
			continue
		}
		require.NotEqual(t, "k0", msg.Metadata[outbox.HeaderKey], "a later message of the poisoned key")
		acked++
		msg.Ack()
	}
	require.LessOrEqual(t, acked, 50+cfg.Concurrency+16)
	require.NoError(t, s.Close())
	require.EqualValues(t, 0, committed(t, env.Brokers, env.Name("group"), topic, 0))
	require.Positive(t, seen.count(kafkasource.OutcomeNacked))
}
