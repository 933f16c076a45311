package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
)

// BenchmarkDebeziumSweep compares how fast Debezium streams a backlog in several
// configurations. The ratios are those of rival.BestDebezium to the others.
func BenchmarkDebeziumSweep(b *testing.B) {
	size := scale(b).debezium.sweep
	s := besideDebezium(b, rival.BestDebezium())
	messages, err := load.Messages(load.Spec{Messages: size.transactions, Bytes: 512, Keys: 1000, Topic: s.rivalTopic})
	require.NoError(b, err)
	for range warmUps() {
		_, err = s.drain(b, messages)
		require.NoError(b, err)
	}

	var contenders []compare.Contender
	for _, cfg := range debeziumConfigs(rival.BestDebezium()) {
		contenders = append(contenders, compare.Contender{Name: cfg.String(), Ops: len(messages), Run: func(int) (time.Duration, error) {
			if err := s.Configure(b.Context(), cfg); err != nil {
				return 0, err
			}
			took, err := s.drain(b, messages)
			return took.Streaming, err
		}})
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
}

// BenchmarkDebeziumLatencySweep compares the latencies of Debezium in the same
// configurations, as BenchmarkDebeziumLatency measures them.
func BenchmarkDebeziumLatencySweep(b *testing.B) {
	size := scale(b).debezium
	l := newBesideLatency(b, size.latency, rival.PromptDebezium())
	_, err := l.debezium(b.Context())
	require.NoError(b, err)

	configs := debeziumConfigs(rival.PromptDebezium())
	seen := make([][]percentiles, len(configs))
	b.ResetTimer()
	for range b.N * size.sweep.rounds {
		for i, cfg := range configs {
			require.NoError(b, l.Configure(b.Context(), cfg))
			p, err := l.debezium(b.Context())
			require.NoError(b, err, cfg)
			seen[i] = append(seen[i], p)
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for i, cfg := range configs {
		reportPercentiles(b, cfg.String(), seen[i])
	}
}

// debeziumConfigs begins with the one that is used, and goes on with the defaults and with
// others that are one setting away from it. For correctness, two will do.
func debeziumConfigs(used rival.DebeziumConfig) []rival.DebeziumConfig {
	configs := []rival.DebeziumConfig{used, rival.DocumentedDebezium()}
	if *scaleName == scaleCI {
		return configs
	}
	for _, change := range []func(*rival.DebeziumConfig){
		func(c *rival.DebeziumConfig) { c.BatchSize, c.QueueSize = 2048, 8192 },
		func(c *rival.DebeziumConfig) { c.BatchSize, c.QueueSize = 20_480, 81_920 },
		func(c *rival.DebeziumConfig) { c.PollInterval = 10 * time.Millisecond },
		func(c *rival.DebeziumConfig) { c.ProducerBatch = 16_384 },
		func(c *rival.DebeziumConfig) { c.ProducerBatch = 1_048_576 },
		func(c *rival.DebeziumConfig) { c.Linger = 5*time.Millisecond - c.Linger },
		func(c *rival.DebeziumConfig) { c.Idempotent = false },
	} {
		cfg := used
		change(&cfg)
		configs = append(configs, cfg)
	}
	return configs
}
