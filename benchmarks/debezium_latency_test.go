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
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

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
