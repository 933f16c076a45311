package kafkasink_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// javaHashes are the vectors of the Java client's own test of murmur2.
func javaHashes() map[string]int32 {
	return map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	}
}

//leat:level 0
func TestPartitionJava_EqualsTheJavaClient(t *testing.T) {
	t.Parallel()
	made, _ := kafkasink.PartitionerOf(kafkasink.PartitionJava)
	for key, hash := range javaHashes() {
		for _, n := range []int{1, 3, 8, 100, 1 << 30} {
			got := made.ForTopic("t").Partition(&kgo.Record{Key: []byte(key)}, n)
			require.Equal(t, int(hash&0x7fffffff)%n, got, "%s over %d", key, n)
		}
	}
}

// saramaPartition is where sarama puts a key.
func saramaPartition(key []byte, n int) int {
	h := fnv.New32a()
	_, _ = h.Write(key) // it never fails
	p := int32(h.Sum32()) % int32(n)
	return int(max(p, -p))
}

//leat:level 0
func TestPartitionSarama(t *testing.T) {
	t.Parallel()
	made, _ := kafkasink.PartitionerOf(kafkasink.PartitionSarama)
	for i := range 5000 {
		key := fmt.Appendf(nil, "key-%d%s", i, strings.Repeat("ü", i%7))
		for _, n := range []int{1, 3, 8, 100} {
			got := made.ForTopic("t").Partition(&kgo.Record{Key: key}, n)
			require.Equal(t, saramaPartition(key, n), got, "%s over %d", key, n)
		}
	}
}

// A5: TestPartitionByFormat: records that look like watermill-kafka's lie where it puts
// them. Where they do not, a log line says so.
func TestPartitionByFormat(t *testing.T) {
	t.Parallel()
	const n = 7
	env := testenv.Kafka(t)
	for name, test := range map[string]struct {
		cfg    kafkasink.Config
		theirs bool // placed as sarama does
		warns  bool
	}{
		"leat":                 {cfg: kafkasink.Config{}},
		"leat, as sarama":      {cfg: kafkasink.Config{Partitioner: kafkasink.PartitionSarama}, theirs: true},
		"watermill":            {cfg: kafkasink.Config{Format: kafkasink.FormatWatermill}, theirs: true},
		"watermill, as others": {cfg: kafkasink.Config{Format: kafkasink.FormatWatermill, Partitioner: kafkasink.PartitionJava}, warns: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := env.Topic(t, strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), n)
			var said bytes.Buffer
			test.cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
			s := newSink(t, env.Brokers, test.cfg)
			require.Equal(t, test.warns, strings.Contains(said.String(), "the partitioner of sarama"), said.String())
			var sent []outbox.Record
			for key := range javaHashes() {
				sent = append(sent, record(topic, key, int64(len(sent)+1), 10))
			}
			requireDelivered(t, s.Send(within(t, patience), sent))
			for _, r := range read(t, env.Brokers, topic) {
				want := javaHashes()[string(r.Key)] & 0x7fffffff % n
				if test.theirs {
					want = int32(saramaPartition(r.Key, n))
				}
				require.Equal(t, want, r.Partition, string(r.Key))
			}
		})
	}
}

func TestPartition_OnTheBroker(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		const n = 7
		topic := env.Topic(t, "placed", n)
		s := newSink(t, env.Brokers, kafkasink.Config{})
		var sent []outbox.Record
		for key := range javaHashes() {
			sent = append(sent, record(topic, key, int64(len(sent)+1), 10))
		}
		requireDelivered(t, s.Send(within(t, patience), sent))
		for _, r := range read(t, env.Brokers, topic) {
			require.Equal(t, javaHashes()[string(r.Key)]&0x7fffffff%n, r.Partition, string(r.Key))
		}
	})
}

//leat:level 0
func TestPartition_KeepsTheCountForOneCall(t *testing.T) {
	t.Parallel()
	made, next := kafkasink.PartitionerOf(kafkasink.PartitionJava)
	of := made.ForTopic("t")
	moved := 0
	for i := range 100 {
		next()
		r := &kgo.Record{Key: fmt.Appendf(nil, "key-%d", i)}
		before := of.Partition(r, 4)
		require.Equal(t, before, of.Partition(r, 9), "the topic grew within a call")
		next()
		if of.Partition(r, 9) != before {
			moved++
		}
	}
	require.Positive(t, moved, "the next call sees the new partitions")
}

func TestPartition_WithoutKeyTakesTurns(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "turns", 4)
	s := newSink(t, env.Brokers, kafkasink.Config{})
	sent := make([]outbox.Record, 1000)
	for i := range sent {
		sent[i] = record(topic, "", int64(i+1), 1024)
	}
	requireDelivered(t, s.Send(within(t, patience), sent))
	counts := make(map[int32]int)
	for _, r := range read(t, env.Brokers, topic) {
		counts[r.Partition]++
	}
	require.Len(t, counts, 4)
	for p, n := range counts {
		require.InDelta(t, 250, n, 70, "partition %d", p)
	}
}

func TestPartition_TopicThatGrew(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	topic := env.Topic(t, "grows", 1)
	s := newSink(t, env.Brokers, kafkasink.Config{})
	sent := records(topic, 300, 20, 20)
	requireDelivered(t, s.Send(within(t, patience), sent[:100]))

	admin, err := kgo.NewClient(kgo.SeedBrokers(env.Brokers...))
	require.NoError(t, err)
	defer admin.Close()
	_, err = kadm.NewClient(admin).UpdatePartitions(t.Context(), 5, topic)
	require.NoError(t, err)
	requireDelivered(t, s.Send(within(t, patience), sent[100:]))
	require.Len(t, read(t, env.Brokers, topic), 300)
}
