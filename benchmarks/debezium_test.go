package benchmarks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// debeziumSize is how much the benchmarks beside Debezium do: messages of a backlog,
// rounds of it, and the loads of the latency and of the sweeps.
type debeziumSize struct {
	messages, rounds int
	latency          latencySize
	sweep            size
}

// beside is Debezium, with the servers that it shares with leat.
type beside struct {
	*rival.Debezium

	broker *testenv.KafkaEnv
	// db is leat's. Debezium's is another database of the server: it has to read the
	// log of all, but does not have to decode what leat writes.
	db *testenv.Database
	// topic is leat's, and rivalTopic Debezium's.
	topic, rivalTopic string
}

// besideDebezium starts a server whose log Debezium can read, and the connector, which
// is stopped.
func besideDebezium(b *testing.B, cfg rival.DebeziumConfig) *beside {
	b.Helper()
	broker := testenv.RealKafka(b)
	server := testenv.PrivatePostgres(b, testenv.PostgresOptions{
		Settings: map[string]string{"wal_level": "logical", "shared_buffers": "256MB", "max_wal_size": "4GB"},
	})
	s := &beside{
		broker: broker, db: server.Database(b, migrated()),
		topic: broker.Topic(b, "leat", 8), rivalTopic: broker.Topic(b, "debezium", 8),
	}
	logSettings(b, s.db, broker)
	var err error
	s.Debezium, err = rival.NewDebezium(b.Context(), server.Database(b).Pool, broker.Brokers, s.rivalTopic, cfg)
	testenv.Available(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	results.Uses(b, results.Server{Name: "Debezium", Version: s.Version(), Settings: cfg.Tuning()})
	b.Logf("Debezium %s, %s", s.Version(), cfg)
	return s
}

// afresh returns messages with other ids, so that those of a round are no others.
func afresh(messages []outbox.Message) ([]outbox.Message, error) {
	fresh := make([]outbox.Message, len(messages))
	for i := range messages {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		fresh[i] = messages[i]
		fresh[i].ID = id.String()
	}
	return fresh, nil
}

// warmUps is how often all is carried before the first round: the Java runtime of a
// connector that has just started carries a third of what it does later.
func warmUps() int {
	if *scaleName == scaleCI {
		return 1
	}
	return 3
}

// BenchmarkDebeziumDrain measures how fast a backlog goes from Postgres to Kafka by
// leat's relay and by Debezium's outbox event router, on a server with
// wal_level=logical. Debezium's backlog is written while its connector is stopped and
// its replication slot stands still. The time of debezium is from the request to start
// the connector until the topic has all records, that of debezium-streaming from when
// the broker appended the first to when it appended the last: the start of a connector
// takes seconds, which a service pays once. It flatters Debezium by what it did before
// its first record. The time of leat is from making its relay and its sink to closing
// them. What has arrived is read, and must be all ids, when the clock has stopped.
func BenchmarkDebeziumDrain(b *testing.B) {
	size := scale(b).debezium
	s := besideDebezium(b, rival.BestDebezium())
	messages, err := load.Messages(load.Spec{Messages: size.messages, Bytes: 512, Keys: 10_000, Topic: s.topic})
	require.NoError(b, err)
	ob, err := pgoutbox.New(s.db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	fill(b, s.db, ob, messages)
	_, err = s.db.Pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)

	var whole []float64
	contenders := []compare.Contender{
		{Name: "leat", Ops: size.messages, Run: func(round int) (time.Duration, error) {
			return drainLeat(b.Context(), ob, s.broker.Brokers, fmt.Sprintf("%s-%d", b.Name(), round), size.messages)
		}},
		{Name: "debezium-streaming", Ops: size.messages, Run: func(int) (time.Duration, error) {
			took, err := s.drain(b, messages)
			whole = append(whole, float64(size.messages)/took.Whole.Seconds())
			return took.Streaming, err
		}},
	}
	for i := range warmUps() {
		for _, c := range contenders {
			_, err := c.Run(-1 - i)
			require.NoError(b, err, c.Name)
		}
	}
	whole = nil
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
	b.StopTimer()
	if len(whole) > 0 {
		results.Record(b, "debezium", compare.UnitOps, float64(size.messages))
		results.Record(b, "debezium", "msg/s", whole...)
		b.ReportMetric(compare.Median(whole), "debezium-msg/s")
	}
}

// drain writes messages, with ids of their own, and has Debezium carry them.
func (s *beside) drain(b *testing.B, messages []outbox.Message) (rival.Drained, error) {
	b.Helper()
	fresh, err := afresh(messages)
	if err != nil {
		return rival.Drained{}, err
	}
	if err := s.Fill(b.Context(), fresh); err != nil {
		return rival.Drained{}, err
	}
	return s.Drain(b.Context(), fresh)
}

// BenchmarkDebeziumLatency measures, for leat and for Debezium in turns, the time from
// the moment at which a message was due to be written to the moment at which a consumer
// has it, at a steady rate that does not wait for slow answers. Only one of them runs at
// a time, and Debezium streams already when its load begins. Debezium tells nobody of
// its acknowledgements, and the broker's clock has only milliseconds: a consumer sees
// both in the same way, and adds the same to both, which brings their ratio closer to
// one. x-debezium is Debezium's 99th percentile over leat's in the same round.
//
// Leat's relay is in the process of its producer, which wakes it. Debezium's producers wake nobody: beside it
// are leat's relays whose producer is as if in another process, without a notifier, once with the change log and
// once without, so that they poll.
func BenchmarkDebeziumLatency(b *testing.B) {
	size := scale(b).debezium.latency
	l := newBesideLatency(b, size, rival.PromptDebezium())
	cases := []besideCase{{"leat", l.leat}, {"debezium", l.debezium}}
	if *scaleName != scaleQuick {
		cases = append(cases, besideCase{"leat-tail", l.tail}, besideCase{"leat-polls", l.polls})
	}
	seen := make([][]percentiles, len(cases))
	for _, c := range cases { // all that has just started is slow
		_, err := c.measure(b.Context())
		require.NoError(b, err, c.name)
	}
	b.ResetTimer()
	for round := range b.N * size.rounds {
		for turn := range cases {
			i := turn
			if round%2 == 1 {
				i = len(cases) - 1 - turn
			}
			p, err := cases[i].measure(b.Context())
			require.NoError(b, err, cases[i].name)
			seen[i] = append(seen[i], p)
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for i, c := range cases {
		reportPercentiles(b, c.name, seen[i])
	}
	b.ReportMetric(compare.Median(compare.Ratios(p99s(seen[1]), p99s(seen[0]))), "x-debezium")
}

// besideCase is leat's or Debezium's side of the comparison.
type besideCase struct {
	name    string
	measure func(ctx context.Context) (percentiles, error)
}

// besideLatency measures segments of a steady load.
type besideLatency struct {
	*beside

	size     latencySize
	ob       *pgoutbox.Outbox
	other    *pgoutbox.Outbox // as in another process
	consumed *kadm.Client
	segments uint64
}

func newBesideLatency(b *testing.B, size latencySize, cfg rival.DebeziumConfig) *besideLatency {
	b.Helper()
	l := &besideLatency{beside: besideDebezium(b, cfg), size: size}
	var err error
	l.ob, err = pgoutbox.New(l.db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	l.other, err = pgoutbox.New(l.db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	_, err = l.db.Pool.Exec(b.Context(), `CREATE PUBLICATION leat FOR TABLE leat.outbox
		WITH (publish = 'insert', publish_via_partition_root = true)`)
	require.NoError(b, err)
	client, err := kgo.NewClient(kgo.SeedBrokers(l.broker.Brokers...))
	require.NoError(b, err)
	b.Cleanup(client.Close)
	l.consumed = kadm.NewClient(client)
	return l
}

// leat measures a segment of leat, whose relay is in the process of its producer.
func (l *besideLatency) leat(ctx context.Context) (percentiles, error) {
	return l.relay(ctx, l.ob, nil)
}

// tail measures one of leat whose relay follows the change log, and polls one that does not. Nobody tells either of
// commits.
func (l *besideLatency) tail(ctx context.Context) (percentiles, error) {
	return l.relay(ctx, l.other, &pgoutbox.TailConfig{})
}

func (l *besideLatency) polls(ctx context.Context) (percentiles, error) {
	return l.relay(ctx, l.other, nil)
}

// relay measures a segment whose producer writes to writer.
func (l *besideLatency) relay(ctx context.Context, writer *pgoutbox.Outbox, tail *pgoutbox.TailConfig) (percentiles, error) {
	r, sink, err := openRelayOf(l.ob, pgoutbox.SourceConfig{Group: "latency", Tail: tail}, l.broker.Brokers, relay.Config{})
	if err != nil {
		return percentiles{}, err
	}
	defer func() { _ = sink.Close() }() // it always returns nil
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(running) }()
	p, err := l.segment(ctx, l.topic, commitTo(writer, l.topic))
	stop()
	return p, errors.Join(err, <-ended)
}

// debezium measures a segment of Debezium.
func (l *besideLatency) debezium(ctx context.Context) (percentiles, error) {
	if err := l.Start(ctx); err != nil {
		return percentiles{}, err
	}
	p, err := l.segment(ctx, l.rivalTopic, func(ctx context.Context, key string, payload []byte) error {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		msg := outbox.Message{ID: id.String(), Topic: l.rivalTopic, Key: key, Payload: payload}
		return l.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return l.Insert(ctx, tx, msg) })
	})
	return p, errors.Join(err, l.Stop(ctx))
}

// segment commits one load and consumes it from the topic.
func (l *besideLatency) segment(
	ctx context.Context, topic string, commit commitOne,
) (percentiles, error) {
	ends, err := l.consumed.ListEndOffsets(ctx, topic)
	if err != nil {
		return percentiles{}, err
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(l.broker.Brokers...), kgo.ConsumePartitions(ends.KOffsets()))
	if err != nil {
		return percentiles{}, err
	}
	l.segments++
	number := l.segments
	s := newSegment(l.size)
	s.began = time.Now()
	consumed := make(chan error, 1)
	go func() { consumed <- s.consume(ctx, consumer, number) }()
	err = s.produce(ctx, func(ctx context.Context, key string, payload []byte) error {
		binary.BigEndian.PutUint64(payload[8:], number)
		return commit(ctx, key, payload)
	})
	if err == nil {
		err = s.awaitAll(ctx)
	}
	consumer.Close()
	if err = errors.Join(err, <-consumed); err != nil {
		return percentiles{}, err
	}
	return s.percentiles(), nil
}

// consume notes when the messages of the segment of that number arrive, until the
// consumer is closed. What was delivered again from others does not count.
func (s *segment) consume(ctx context.Context, consumer *kgo.Client, number uint64) error {
	for {
		fetches := consumer.PollFetches(ctx)
		if fetches.IsClientClosed() {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		now := int64(time.Since(s.began))
		fetches.EachRecord(func(r *kgo.Record) {
			if len(r.Value) >= 16 && binary.BigEndian.Uint64(r.Value[8:]) == number {
				s.arrived(int(binary.BigEndian.Uint64(r.Value)), now)
			}
		})
	}
}

// awaitAll waits until all messages have arrived.
func (s *segment) awaitAll(ctx context.Context) error {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-s.done:
		return nil
	case <-limit.C:
		return fmt.Errorf("%d messages have not arrived", s.left.Load())
	case <-ctx.Done():
		return ctx.Err()
	}
}

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
