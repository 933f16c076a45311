package benchmarks

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkForwarderSweep is how rival.BestForwarder was found. The ratios are
// those of the best configuration to the others.
func BenchmarkForwarderSweep(b *testing.B) {
	size := scale(b).sweep
	broker := testenv.RealKafka(b)
	topic := broker.Topic(b, "sweep", 8)
	messages, err := load.Messages(load.Spec{Messages: size.transactions, Bytes: 512, Keys: 1000, Topic: topic})
	require.NoError(b, err)

	contender := func(cfg rival.ForwarderConfig) compare.Contender {
		db := testenv.Postgres(b)
		logSettings(b, db, broker)
		fwd := rival.NewForwarder(db.Pool, broker.Brokers, cfg)
		require.NoError(b, fwd.Fill(b.Context(), messages))
		schema := "default"
		if cfg.Queue {
			schema = "queue"
		}
		return compare.Contender{
			Name: fmt.Sprintf("%s-%s-%d", schema, cfg.PayloadType, cfg.BatchSize),
			Ops:  len(messages),
			Run: func(round int) (time.Duration, error) {
				if !cfg.Queue {
					return fwd.Drain(b.Context(), fmt.Sprintf("group-%d", round), len(messages))
				}
				if round > 0 {
					if err := fwd.Fill(b.Context(), messages); err != nil {
						return 0, err
					}
				}
				return fwd.Drain(b.Context(), "", len(messages))
			},
		}
	}
	contenders := []compare.Contender{contender(rival.BestForwarder())}
	for _, queue := range []bool{false, true} {
		for _, payload := range []string{"JSON", "BYTEA"} {
			for _, batch := range []int{10, 100, 1000} {
				cfg := rival.ForwarderConfig{BatchSize: batch, PayloadType: payload, Queue: queue}
				if cfg != rival.BestForwarder() {
					contenders = append(contenders, contender(cfg))
				}
			}
		}
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
}
