package kafkasink_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// rejectNth makes the cluster reject the nth produce request to topic t.
func rejectNth(c *kfake.Cluster, nth int64, err *kerr.Error) {
	var seen atomic.Int64
	c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: "t", Err: err, Count: -1,
		When: func(kmsg.Request) bool { return seen.Add(1) == nth },
	})
}

// A batch in the middle of a call is rejected. Nothing behind it reaches the
// partition, neither from this call nor before its records are sent again.
func TestO5_RejectedBatchStopsItsPartition(t *testing.T) {
	t.Parallel()
	for _, nth := range []int64{1, 2, 3, 5} {
		c := cluster(t, "t", 1)
		rejectNth(c, nth, kerr.InvalidRecord)
		s := newSink(t, c.ListenAddrs(), kafkasink.Config{MaxMessageBytes: 5000})
		sent := records("t", 200, 7, 200)
		first := kafkasink.Client(s)

		results := s.Send(within(t, patience), sent)
		log := read(t, c.ListenAddrs(), "t")
		require.Nil(t, kafkasink.Client(s), "the client that failed a batch is closed")
		require.Empty(t, outOfOrder(t, sent, log))
		delivered := kinds(results)[-1]
		require.Less(t, delivered, 200)
		require.Len(t, log, delivered, "what was not acknowledged was not delivered")
		for i, r := range results {
			require.Equal(t, i < delivered, r.Err == nil, "record %d", i)
		}
		require.ErrorIs(t, results[delivered].Err, kerr.InvalidRecord)
		require.Equal(t, outbox.FailureUnknown, outbox.KindOf(results[delivered].Err), "the batch was not judged record by record")

		requireDelivered(t, s.Send(within(t, patience), sent[delivered:]))
		log = read(t, c.ListenAddrs(), "t")
		require.Len(t, log, 200)
		require.Empty(t, outOfOrder(t, sent, log))
		require.NotSame(t, first, kafkasink.Client(s))
	}
}

// The client of a first call does not know its topic yet, and buffers one record
// after the other once it does. A batch that is rejected in the middle of that
// must not let later records through.
func TestO5_RejectedWhileTheClientIsStillBuffering(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 1)
	rejectNth(c, 1, kerr.InvalidRecord)
	failed := &firstFailure{seen: make(chan struct{})}
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{MaxMessageBytes: 5000, Options: []kgo.Opt{kgo.WithHooks(failed)}})
	kafkasink.BeforePartition(s, func(n int) {
		switch n {
		case 100: // while this waits, the call is handed over and may be flushed
			failed.wait(50 * time.Millisecond)
		case 200: // if it was, the first batch is rejected here
			failed.wait(300 * time.Millisecond)
		}
	})
	sent := records("t", 400, 7, 200)
	results := s.Send(within(t, patience), sent)
	require.Equal(t, map[outbox.FailureKind]int{outbox.FailureUnknown: 1, outbox.FailureNotSent: 399}, kinds(results))
	require.Empty(t, read(t, c.ListenAddrs(), "t"))
}

// firstFailure is a hook that sees the first record that fails.
type firstFailure struct {
	once sync.Once
	seen chan struct{}
}

func (*firstFailure) OnProduceRecordBuffered(*kgo.Record) {}

func (f *firstFailure) OnProduceRecordUnbuffered(_ *kgo.Record, err error) {
	if err != nil {
		f.once.Do(func() { close(f.seen) })
	}
}

func (f *firstFailure) wait(most time.Duration) {
	select {
	case <-f.seen:
	case <-time.After(most):
	}
}

// What the Sink is there to prevent: the same client, used on after a rejected
// batch, sends what comes next.
//
//leat:level 0
func TestO5_ControlClientThatGoesOnLosesTheOrder(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 1)
	rejectNth(c, 2, kerr.InvalidRecord)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	require.NoError(t, err)
	defer client.Close()
	sent := records("t", 200, 7, 200)
	failed := 0
	for page := sent; len(page) > 0; page = page[50:] {
		for i := range page[:50] {
			r := &kgo.Record{Topic: "t", Key: []byte(page[i].Key), Value: page[i].Payload}
			client.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
				if err != nil {
					failed++
				}
			})
		}
		require.NoError(t, client.Flush(within(t, patience)))
	}
	require.Positive(t, failed)
	require.NotEmpty(t, outOfOrder(t, sent, read(t, c.ListenAddrs(), "t")), "the check has to see this")
}

// Only records that a broker rejects alone are called permanent. A compacted topic refuses a
// record without a key, with all that share its batch.
func TestO7_RejectedRecordIsFoundInItsBatch(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	topic := env.Name("compacted")
	create(t, env, topic, 1, map[string]string{"cleanup.policy": "compact"})
	s := newSink(t, env.Brokers, kafkasink.Config{})
	sent := records(topic, 60, 6, 50)
	sent[20].Key = ""

	results := s.Send(within(t, patience), sent)
	require.Equal(t, map[outbox.FailureKind]int{outbox.FailureUnknown: 1, outbox.FailureNotSent: 59}, kinds(results))
	require.ErrorIs(t, results[0].Err, kerr.InvalidRecord)

	results = s.Send(within(t, patience), sent)
	require.Equal(t, map[outbox.FailureKind]int{-1: 59, outbox.FailurePermanent: 1}, kinds(results))
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[20].Err))
	log := read(t, env.Brokers, topic)
	require.Len(t, log, 59)
	require.Empty(t, outOfOrder(t, sent, log))
}

func headerOf(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// TestO7_TimesThatKafkaRefuses: a time is the fault of a clock and not of the message. What was refused for it is
// sent with the time of now; the header keeps the time of the event. A broker that refuses that, too, is waited for.
func TestO7_TimesThatKafkaRefuses(t *testing.T) {
	t.Parallel()
	env := testenv.RealKafka(t)
	slots := map[string]string{"ahead": "times/0", "behind": "times/1"}
	for name, setting := range map[string]string{"ahead": "message.timestamp.after.max.ms", "behind": "message.timestamp.before.max.ms"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by := 48 * time.Hour
			if name == "behind" {
				by = -by
			}
			spoiled := func(topic string) []outbox.Record {
				create(t, env, topic, 1, map[string]string{setting: "3600000"})
				sent := records(topic, 60, 6, 50)
				for _, i := range []int{20, 26, 40} {
					sent[i].OccurredAt = time.Now().Add(by)
				}
				return sent
			}
			judge := func(sent []outbox.Record, log []*kgo.Record) {
				t.Helper()
				require.Len(t, log, len(sent))
				require.Empty(t, outOfOrder(t, sent, log))
				for i := range log {
					if n := slices.IndexFunc(sent, func(r outbox.Record) bool { return r.ID == headerOf(log[i], outbox.HeaderEventID) }); n == 20 {
						require.Equal(t, outbox.FormatEventTime(sent[n].OccurredAt), headerOf(log[i], outbox.HeaderEventTime))
						require.WithinDuration(t, time.Now(), log[i].Timestamp, time.Hour)
					}
				}
			}

			sent := spoiled(env.Name(name))
			s := newSink(t, env.Brokers, kafkasink.Config{})
			results := s.Send(within(t, patience), sent)
			require.Equal(t, map[outbox.FailureKind]int{outbox.FailureUnknown: 1, outbox.FailureNotSent: 59}, kinds(results))
			requireDelivered(t, s.Send(within(t, patience), sent))
			judge(sent, read(t, env.Brokers, sent[0].Topic))

			sent = spoiled(env.Name(name + "-exact"))
			exact := newTransactional(t, env, func(cfg *kafkasink.TransactionalConfig) { cfg.TransactionalIDPrefix += name })
			for _, want := range []error{kerr.InvalidTimestamp, nil} {
				_, err := exact.Fence(within(t, patience), slots[name])
				require.NoError(t, err)
				err = exact.SendWith(within(t, patience), slots[name], sent, []byte("60"))
				require.True(t, errors.Is(err, want), err) //nolint:testifylint // nil is one of them
			}
			judge(sent, readCommitted(t, env.Brokers, sent[0].Topic))
		})
	}

	c := cluster(t, "t", 1)
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{})
	for _, want := range []outbox.FailureKind{outbox.FailureUnknown, outbox.FailureOutage, outbox.FailureOutage} {
		rejectNth(c, 1, kerr.InvalidTimestamp)
		results := s.Send(within(t, patience), records("t", 1, 1, 1))
		require.Equal(t, want, outbox.KindOf(results[0].Err), results[0].Err)
		require.Equal(t, want == outbox.FailureOutage, strings.Contains(results[0].Err.Error(), "compare this process's clock"))
	}
}

// Where the cluster does not tell a topic's limit and the configured one is too
// high, small records are still delivered.
func TestSize_LimitThatIsNotTold(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	value := "2000"
	require.NoError(t, c.CreateTopic("t", 1, map[string]string{"max.message.bytes": value}))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{})
	sent := records("t", 100, 4, 300)
	sent[50] = record("t", "key-2", 51, 3000)

	pending := sent
	for range 20 {
		results := s.Send(within(t, patience), pending)
		var rest []outbox.Record
		for i, r := range results {
			if r.Err != nil && outbox.KindOf(r.Err) != outbox.FailurePermanent {
				rest = append(rest, pending[i])
			}
		}
		if pending = rest; len(pending) == 0 {
			break
		}
	}
	require.Empty(t, pending)
	require.Len(t, read(t, c.ListenAddrs(), "t"), 99)
}
