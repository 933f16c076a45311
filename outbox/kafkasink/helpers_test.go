package kafkasink_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// patience bounds what a test waits for; none of them measures time.
const patience = 30 * time.Second

// brokers runs test on the shared cluster, and on an in-process one where that
// is real.
func brokers(t *testing.T, test func(t *testing.T, env *testenv.KafkaEnv)) {
	t.Helper()
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		test(t, testenv.Kafka(t))
	})
	t.Run("fake", func(t *testing.T) {
		t.Parallel()
		test(t, testenv.Fake(t))
	})
}

// cluster returns an in-process cluster that the test can make fail.
func cluster(t *testing.T, topic string, partitions int32) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topic))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newSink(t *testing.T, addrs []string, cfg kafkasink.Config) *kafkasink.Sink {
	t.Helper()
	s, err := kafkasink.New(addrs, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// record returns record seq of key, with a payload of size bytes or more that
// starts with its seq.
func record(topic, key string, seq int64, size int) outbox.Record {
	payload := fmt.Sprintf("%d ", seq)
	return outbox.Record{
		Seq:       seq,
		CreatedAt: time.Now().UTC(),
		Message: outbox.Message{
			ID:      fmt.Sprintf("id-%d", seq),
			Topic:   topic,
			Key:     key,
			Payload: []byte(payload + strings.Repeat(".", max(0, size-len(payload)))),
		},
	}
}

// records returns n records of topic over keys keys, in turns.
func records(topic string, n, keys, size int) []outbox.Record {
	out := make([]outbox.Record, n)
	for i := range out {
		out[i] = record(topic, fmt.Sprintf("key-%d", i%keys), int64(i+1), size)
	}
	return out
}

// read returns all records of topic, partition by partition in their order.
func read(t *testing.T, addrs []string, topic string) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	require.NoError(t, err)
	require.NoError(t, ends.Error())
	want := int64(0)
	ends.Each(func(o kadm.ListedOffset) { want += o.Offset })
	var got []*kgo.Record
	for int64(len(got)) < want {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		got = append(got, fetches.Records()...)
	}
	slices.SortFunc(got, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return got
}

func seqOf(t *testing.T, r *kgo.Record) int64 {
	t.Helper()
	var seq int64
	_, err := fmt.Sscanf(string(r.Value), "%d", &seq)
	require.NoError(t, err)
	return seq
}

// outOfOrder names the first record in log that came before an earlier one of
// its key, or "": first occurrences must ascend without a gap in what was sent.
func outOfOrder(t *testing.T, sent []outbox.Record, log []*kgo.Record) string {
	t.Helper()
	before := make(map[int64]int64) // seq → seq of the record of its key before it
	last := make(map[string]int64)
	for i := range sent {
		before[sent[i].Seq] = last[sent[i].Key]
		last[sent[i].Key] = sent[i].Seq
	}
	seen := map[int64]bool{0: true}
	for _, r := range log {
		seq := seqOf(t, r)
		if !seen[before[seq]] {
			return fmt.Sprintf("seq %d of key %q came before seq %d", seq, r.Key, before[seq])
		}
		seen[seq] = true
	}
	return ""
}

// kinds counts results by kind; delivered ones count as -1.
func kinds(results []outbox.Result) map[outbox.FailureKind]int {
	counts := make(map[outbox.FailureKind]int)
	for _, r := range results {
		if r.Err == nil {
			counts[-1]++
		} else {
			counts[outbox.KindOf(r.Err)]++
		}
	}
	return counts
}

func requireDelivered(t *testing.T, results []outbox.Result) {
	t.Helper()
	for i, r := range results {
		require.NoError(t, r.Err, "record %d", i)
	}
}

// deliverAll sends pending as a relay would, again and again from the first
// record that was not acknowledged, until nothing is left.
func deliverAll(ctx context.Context, s *kafkasink.Sink, pending []outbox.Record, timeout time.Duration) error {
	for len(pending) > 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d records left: %w", len(pending), err)
		}
		sending, cancel := context.WithTimeout(ctx, timeout)
		results := s.Send(sending, pending)
		cancel()
		var rest []outbox.Record
		for i, r := range results {
			if r.Err != nil {
				rest = append(rest, pending[i])
			}
		}
		pending = rest
	}
	return nil
}
