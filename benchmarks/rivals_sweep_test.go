package benchmarks

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// BenchmarkRiverSweep is what rival.BestRiver is to be the first of: workers, and the
// times between reads of jobs, from the shortest that river takes.
func BenchmarkRiverSweep(b *testing.B) {
	var all []rival.RiverConfig
	for _, workers := range []int{100, 500, 1000, 2000} {
		for _, cooldown := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 20 * time.Millisecond} {
			all = append(all, rival.RiverConfig{Workers: workers, Cooldown: cooldown, Poll: 10 * cooldown})
		}
	}
	sweepDrains(b, bestFirst(rival.BestRiver(), all),
		func(cfg rival.RiverConfig) string { return fmt.Sprintf("%d-%s", cfg.Workers, cfg.Cooldown) },
		func(db *testenv.Database, brokers []string, cfg rival.RiverConfig) refillable {
			return rival.NewRiver(db.Pool, brokers, cfg)
		})
}

// BenchmarkSkipLockedSweep is what rival.BestSkipLocked is to be the first of.
func BenchmarkSkipLockedSweep(b *testing.B) {
	var all []rival.SkipLockedConfig
	for _, batch := range []int{100, 1000, 5000} {
		for _, workers := range []int{1, 2, 4} {
			all = append(all, rival.SkipLockedConfig{Batch: batch, Workers: workers})
		}
	}
	sweepDrains(b, bestFirst(rival.BestSkipLocked(), all),
		func(cfg rival.SkipLockedConfig) string { return fmt.Sprintf("%d-%dworkers", cfg.Batch, cfg.Workers) },
		func(db *testenv.Database, brokers []string, cfg rival.SkipLockedConfig) refillable {
			return rival.NewSkipLocked(db.Pool, brokers, cfg)
		})
}

// BenchmarkPublisherSweep is what rival.BestPublisher is to be the first of.
func BenchmarkPublisherSweep(b *testing.B) {
	var all []rival.PublisherConfig
	for _, callers := range []int{10, 100, 1000, 5000, 20_000} {
		for _, batch := range []int{1, 100} {
			all = append(all, rival.PublisherConfig{Callers: callers, Batch: batch})
		}
	}
	size := scale(b).rivalSweep
	broker := testenv.RealKafka(b)
	results.Uses(b, results.Server{Name: "Apache Kafka", Version: broker.Version})
	messages := sweepMessages(b, broker, size.transactions)
	var contenders []compare.Contender
	for _, cfg := range bestFirst(rival.BestPublisher(), all) {
		publisher := newPublisher(b, broker, cfg)
		contenders = append(contenders, compare.Contender{
			Name: fmt.Sprintf("%dcallers-%d", cfg.Callers, cfg.Batch),
			Ops:  len(messages),
			Run:  func(int) (time.Duration, error) { return publisher.Drain(b.Context(), messages) },
		})
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", arriving(b, broker, messages[0].Topic, contenders)...)
}

// sweepDrains compares one rival's settings, the first with all others, on one table: each
// run empties it.
func sweepDrains[Config any](
	b *testing.B, configs []Config, name func(Config) string,
	open func(db *testenv.Database, brokers []string, cfg Config) refillable,
) {
	b.Helper()
	size := scale(b).rivalSweep
	broker := testenv.RealKafka(b)
	db := testenv.Postgres(b)
	logSettings(b, db, broker)
	messages := sweepMessages(b, broker, size.transactions)
	contenders := make([]compare.Contender, len(configs))
	for i, cfg := range configs {
		run := refilled(b.Context(), open(db, broker.Brokers, cfg), messages)
		contenders[i] = compare.Contender{Name: name(cfg), Ops: len(messages), Run: run}
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", arriving(b, broker, messages[0].Topic, contenders)...)
}

func sweepMessages(b *testing.B, broker *testenv.KafkaEnv, count int) []outbox.Message {
	b.Helper()
	topic := broker.Topic(b, "sweep", 8)
	messages, err := load.Messages(load.Spec{Messages: count, Bytes: 512, Keys: 10_000, Topic: topic})
	require.NoError(b, err)
	warmTopic(b, broker, messages)
	return messages
}

// bestFirst returns all with best in the first place, which ratios are to.
func bestFirst[Config comparable](best Config, all []Config) []Config {
	others := slices.DeleteFunc(all, func(cfg Config) bool { return cfg == best })
	return append([]Config{best}, others...)
}
