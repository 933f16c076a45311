package benchmarks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// webhookFile has real payloads, of 1 to 27 KB. Its licence and source are beside it.
const webhookFile = "../examples/quickstart/data/github-webhooks.jsonl"

// BenchmarkRelayPayloads measures what the drain of BenchmarkRelayDrain depends on,
// one thing at a time: the size of payloads, the number of keys, and the records that
// the relay sends at once. Raw is a producer that has the same records in memory, so
// that x-raw tells what is leat's part in a difference. All else is as in
// BenchmarkRelayDrain.
func BenchmarkRelayPayloads(b *testing.B) {
	const bytes, keys = 512, 10_000
	broker, size := testenv.RealKafka(b), scale(b).payloads
	random := func(bytes, keys int) messagesOf {
		return func(topic string) ([]outbox.Message, error) {
			return load.Messages(load.Spec{Messages: size.messages(bytes), Bytes: bytes, Keys: keys, Topic: topic})
		}
	}
	for _, bytes := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("bytes=%d", bytes), func(b *testing.B) {
			drainPayloads(b, broker, size.rounds, random(bytes, keys), relay.Config{})
		})
	}
	b.Run("bytes=webhooks", func(b *testing.B) {
		const mean = 10_000
		webhooks := func(topic string) ([]outbox.Message, error) {
			return load.Webhooks(webhookFile, size.messages(mean), topic)
		}
		drainPayloads(b, broker, size.rounds, webhooks, relay.Config{})
	})
	for _, keys := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			drainPayloads(b, broker, size.rounds, random(bytes, keys), relay.Config{})
		})
	}
	for _, page := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
			// No page is cut short for its bytes.
			drainPayloads(b, broker, size.rounds, random(bytes, keys), relay.Config{PageSize: page, PageBytes: 32 << 20})
		})
	}
}

// payloadsSize is how much a drain carries: no more than most messages, and no more
// than so many bytes of payloads.
type payloadsSize struct {
	most, bytes, rounds int
}

func (s payloadsSize) messages(bytes int) int { return min(s.most, s.bytes/bytes) }

// messagesOf makes the messages for a topic.
type messagesOf = func(topic string) ([]outbox.Message, error)

func drainPayloads(b *testing.B, broker *testenv.KafkaEnv, rounds int, load messagesOf, cfg relay.Config) {
	b.Helper()
	db := testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	topic := broker.Topic(b, strings.NewReplacer("/", "-", "=", "-").Replace(b.Name()), 8)
	messages, err := load(topic)
	require.NoError(b, err)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	fill(b, db, ob, messages)
	_, err = db.Pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	raw, err := rival.NewRaw(broker.Brokers)
	require.NoError(b, err)
	b.Cleanup(raw.Close)
	records := rival.KafkaRecords(topic, messages, time.Now())
	require.NoError(b, raw.Produce(b.Context(), records)) // a topic that is new is slow

	var cpu processorUse
	ops := len(messages)
	b.ResetTimer()
	compare.Rounds(b, rounds, only(), "msg/s",
		onTopic(b, broker, topic, cpu.of(compare.Contender{Name: "leat", Ops: ops, Run: func(round int) (time.Duration, error) {
			return drainWith(b.Context(), ob, broker.Brokers, fmt.Sprintf("payloads-%d", round), ops, cfg)
		}})),
		onTopic(b, broker, topic, cpu.of(compare.Contender{Name: "raw", Ops: ops, Run: produceAll(b, raw, records)})),
	)
	b.StopTimer()
	cpu.report(b)
}
