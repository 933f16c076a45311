package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkRawSweep is how the settings of rival.NewRaw were found: the ratios are those
// of these settings to others. Two of the others do something else: headerless sends
// records without headers, and one-ack waits for the leader alone and may send twice.
func BenchmarkRawSweep(b *testing.B) {
	size := scale(b).rawSweep
	broker := testenv.RealKafka(b)
	db := testenv.Postgres(b)
	logSettings(b, db, broker)
	topic := broker.Topic(b, "sweep", 8)
	messages, err := load.Messages(load.Spec{Messages: size.transactions, Bytes: 512, Keys: 10_000, Topic: topic})
	require.NoError(b, err)
	records := rival.KafkaRecords(topic, messages, time.Now())

	first, err := rival.NewRaw(broker.Brokers)
	require.NoError(b, err)
	b.Cleanup(first.Close)
	warm(b, first, records)

	contender := func(name string, records []kgo.Record, options ...kgo.Opt) compare.Contender {
		raw, err := rival.NewRaw(broker.Brokers, options...)
		require.NoError(b, err)
		b.Cleanup(raw.Close)
		return compare.Contender{Name: name, Ops: len(records), Run: produceAll(b, raw, records)}
	}
	contenders := []compare.Contender{
		contender("raw", records),
		contender("buffer-10k", records, kgo.MaxBufferedRecords(10_000)),
		contender("buffer-100k", records, kgo.MaxBufferedRecords(100_000)),
		contender("linger-5ms", records, kgo.ProducerLinger(5*time.Millisecond)),
		contender("batch-100k", records, kgo.ProducerBatchMaxBytes(100_000)),
		contender("snappy", records, kgo.ProducerBatchCompression(kgo.SnappyCompression())),
		contender("lz4", records, kgo.ProducerBatchCompression(kgo.Lz4Compression())),
		contender("one-ack", records, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck())),
		contender("headerless", rival.WithoutHeaders(records)),
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
}
