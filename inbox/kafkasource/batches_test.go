package kafkasource_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

var errHandler = errors.New("the handler fails")

// runBatches runs fn until the test ends, or the function that it returns is
// called.
func runBatches(
	t *testing.T, env *testenv.KafkaEnv, topic string, cfg kafkasource.Config, fn inbox.BatchFunc,
) (stop func()) {
	t.Helper()
	s, err := kafkasource.NewSubscriber(env.Brokers, env.Name("group"), cfg)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.RunBatches(t.Context(), topic, fn) }()
	stop = sync.OnceFunc(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}

// TestI13_BatchesInOrder: batches come in the partition's order, of several
// partitions at once, no more than BatchSize, with positions.
func TestI13_BatchesInOrder(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "batches", 2)
	c := client(t, env.Brokers)
	for p := range int32(2) {
		records := make([]*kgo.Record, 100)
		for i := range records {
			records[i] = record(topic, p, strconv.Itoa(i), "k")
		}
		require.NoError(t, c.ProduceSync(t.Context(), records...).FirstErr())
	}
	cfg := brisk()
	cfg.BatchSize = 30
	var mu sync.Mutex
	next, left := map[int32]int{}, 200
	inside, both, done := 0, make(chan struct{}), make(chan struct{})
	stop := runBatches(t, env, topic, cfg, func(ctx context.Context, msgs []*message.Message) []error {
		mu.Lock()
		if inside++; inside == 2 {
			close(both)
		}
		mu.Unlock()
		select { // each partition's first batch waits for the other's
		case <-both:
		case <-ctx.Done():
			return []error{}
		}
		mu.Lock()
		defer mu.Unlock()
		if len(msgs) > 30 {
			t.Errorf("%d messages in a batch", len(msgs))
		}
		for _, msg := range msgs {
			p, ok := driver.PositionFrom(msg.Context())
			n := next[p.Partition]
			if !ok || p.Serial || msg.UUID != strconv.Itoa(n) || p.Offset != int64(n) || p.Prev != int64(n-1) {
				t.Errorf("message %s at %+v, want %d", msg.UUID, p, n)
			}
			next[p.Partition]++
			if left--; left == 0 {
				close(done)
			}
		}
		return nil
	})
	await(t, done, "all messages are handled")
	stop()
	require.EqualValues(t, 100, committed(t, env.Brokers, env.Name("group"), topic, 0))
	require.EqualValues(t, 100, committed(t, env.Brokers, env.Name("group"), topic, 1))
}

// TestI3_BatchCommitsThePrefixThatIsDone: messages that fail are given again, alone,
// the partition's later ones wait, and no offset above the first of them is
// committed.
func TestI3_BatchCommitsThePrefixThatIsDone(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "prefix", 1)
	fill(t, env, topic, 20, 0)
	cfg := brisk()
	cfg.BatchSize = 10
	runs, calls := map[string]int{}, make(chan []string, 1000)
	stop := runBatches(t, env, topic, cfg, func(_ context.Context, msgs []*message.Message) []error {
		errs, ids := make([]error, len(msgs)), make([]string, len(msgs))
		for i, msg := range msgs {
			ids[i] = msg.UUID
			runs[msg.UUID]++
			if msg.UUID == "3" || (msg.UUID == "7" && runs["7"] < 3) {
				errs[i] = errHandler
			}
		}
		calls <- ids
		return errs
	})
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, await(t, calls, "a batch"))
	require.Equal(t, []string{"3", "7"}, await(t, calls, "a batch"))
	require.Equal(t, []string{"3", "7"}, await(t, calls, "a batch"))
	require.Equal(t, []string{"3"}, await(t, calls, "a batch"))
	for committed(t, env.Brokers, env.Name("group"), topic, 0) < 3 {
		await(t, time.After(10*time.Millisecond), "a pause")
	}
	stop()
	require.EqualValues(t, 3, committed(t, env.Brokers, env.Name("group"), topic, 0))
	require.Equal(t, 1, runs["9"])
	require.Zero(t, runs["10"])
}

// A wrong number of errors fails the batch, and the end of the context ends it.
func TestRunBatches_WrongResultsAndRevocation(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "results", 1)
	fill(t, env, topic, 3, 0)
	cfg := brisk()
	cfg.DrainTimeout = 50 * time.Millisecond
	calls, causes := make(chan int, 100), make(chan error, 1)
	stop := runBatches(t, env, topic, cfg, func(ctx context.Context, msgs []*message.Message) []error {
		calls <- len(msgs)
		if len(calls) == 1 {
			return []error{nil, nil} // for three
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return make([]error, len(msgs))
	})
	for len(calls) < 2 {
		await(t, time.After(time.Millisecond), "a pause")
	}
	stop()
	require.ErrorIs(t, await(t, causes, "the context ends"), outbox.ErrClosed)
	require.EqualValues(t, 3, committed(t, env.Brokers, env.Name("group"), topic, 0), "what was done all the same counts")
}

// TestMalformed: a record that cannot be unmarshalled is never skipped: it holds up
// what follows until Malformed takes it.
func TestMalformed(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	unmarshal := func(r *kgo.Record) (*message.Message, error) {
		if string(r.Value) == "1" {
			return nil, errHandler
		}
		return kafkasource.Unmarshal(r)
	}
	for _, batches := range []bool{false, true} {
		topic := env.Topic(t, "malformed-"+strconv.FormatBool(batches), 1)
		fill(t, env, topic, 3, 1)
		seen, tries, got := &deliveries{}, make(chan int64, 100), make(chan driver.Position, 100)
		cfg := brisk()
		cfg.Concurrency, cfg.Hooks, cfg.Unmarshal = 1, []outbox.Hook{seen}, unmarshal
		cfg.Malformed = func(_ context.Context, r *kgo.Record, err error) error {
			tries <- r.Offset
			if len(tries) < 3 {
				return err
			}
			return nil
		}
		if batches {
			runBatches(t, env, topic, cfg, func(_ context.Context, msgs []*message.Message) []error {
				for _, msg := range msgs {
					p, _ := driver.PositionFrom(msg.Context())
					got <- p
				}
				return nil
			})
		} else {
			msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), cfg), topic)
			go func() {
				for msg := range msgs {
					p, _ := driver.PositionFrom(msg.Context())
					got <- p
					msg.Ack()
				}
			}()
		}
		first, second := await(t, got, "the first message"), await(t, got, "the third message")
		require.Equal(t, []int64{0, -1, 2, 0}, []int64{first.Offset, first.Prev, second.Offset, second.Prev})
		require.Len(t, tries, 3)
		require.Equal(t, 3, seen.count(kafkasource.OutcomeMalformed))
	}
}
