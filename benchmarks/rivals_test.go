package benchmarks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	wmiddleware "github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/load"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/benchmarks/internal/rival"
	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkPublisher measures the way from memory to Kafka alone: leat's sink in the
// pages that the relay hands it, franz-go, and watermill-kafka's publisher, called by many
// at once and by one. The last two ask for the acknowledgement of the leader only, as is
// their default.
func BenchmarkPublisher(b *testing.B) {
	size := scale(b).publisher
	broker := testenv.RealKafka(b)
	results.Uses(b, results.Server{Name: "Apache Kafka", Version: broker.Version})
	topic := broker.Topic(b, "publisher", 8)
	messages, err := load.Messages(load.Spec{
		Messages: max(size.fast, size.concurrent, size.serial), Bytes: 512, Keys: 10_000, Topic: topic,
	})
	require.NoError(b, err)
	sink, err := kafkasink.New(broker.Brokers, kafkasink.Config{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, sink.Close()) })
	raw, err := rival.NewRaw(broker.Brokers)
	require.NoError(b, err)
	b.Cleanup(raw.Close)
	records := rival.KafkaRecords(topic, messages[:size.fast], time.Now())
	warmTopic(b, broker, messages)

	watermill := func(name string, cfg rival.PublisherConfig, count int) compare.Contender {
		publisher := newPublisher(b, broker, cfg)
		return compare.Contender{Name: name, Ops: count, Run: func(int) (time.Duration, error) {
			return publisher.Drain(b.Context(), messages[:count])
		}}
	}
	contenders := []compare.Contender{
		{Name: "leat", Ops: size.fast, Run: func(int) (time.Duration, error) {
			return sendPages(b.Context(), sink, messages[:size.fast])
		}},
		{Name: "raw", Ops: size.fast, Run: produceAll(b, raw, records)},
		watermill("watermill-kafka", rival.BestPublisher(), size.concurrent),
		watermill("watermill-kafka-serial", rival.SerialPublisher(), size.serial),
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", arriving(b, broker, topic, contenders)...)
}

func newPublisher(b *testing.B, broker *testenv.KafkaEnv, cfg rival.PublisherConfig) *rival.Publisher {
	b.Helper()
	publisher, err := rival.NewPublisher(broker.Brokers, cfg)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, publisher.Close()) })
	return publisher
}

// sendPages sends messages as the relay does with its defaults, one page after the other.
func sendPages(ctx context.Context, sink *kafkasink.Sink, messages []outbox.Message) (time.Duration, error) {
	const page = 5000
	records := make([]outbox.Record, len(messages))
	for i := range records {
		records[i] = outbox.Record{Message: messages[i], Seq: int64(i), CreatedAt: time.Now()}
	}
	began := time.Now()
	for at := 0; at < len(records); at += page {
		for _, result := range sink.Send(ctx, records[at:min(at+page, len(records))]) {
			if result.Err != nil {
				return 0, fmt.Errorf("send a page: %w", result.Err)
			}
		}
	}
	return time.Since(began), nil
}

// BenchmarkRivalsDrain measures how fast a backlog goes from Postgres to Kafka through
// what Go programs use instead of leat: Watermill's forwarder with its queue schema, jobs
// of river, and the relay of the articles. The rivals' tables are emptied, filled and
// vacuumed before each round, and the clock does not run meanwhile; leat's backlog is
// read again by a new group. Watermill-kafka's publisher has no database behind it, and
// is a bound of the forwarder.
func BenchmarkRivalsDrain(b *testing.B) {
	size := scale(b).rivals
	broker := testenv.RealKafka(b)
	db := testenv.Postgres(b, migrated())
	logSettings(b, db, broker)
	topic := broker.Topic(b, "rivals", 8)
	messages, err := load.Messages(load.Spec{
		Messages: max(size.fast, size.concurrent, size.serial), Bytes: 512, Keys: 10_000, Topic: topic,
	})
	require.NoError(b, err)
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(b, err)
	fill(b, db, ob, messages[:size.fast])
	_, err = db.Pool.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	publisher := newPublisher(b, broker, rival.BestPublisher())
	warmTopic(b, broker, messages)

	contenders := []compare.Contender{
		{Name: "leat", Ops: size.fast, Run: func(round int) (time.Duration, error) {
			return drainLeat(b.Context(), ob, broker.Brokers, fmt.Sprintf("%s-%d", b.Name(), round), size.fast)
		}},
		{Name: "forwarder-queue", Ops: size.serial, Run: refilled(b.Context(), forwarderQueue{
			rival.NewForwarder(db.Pool, broker.Brokers, rival.BestForwarderQueue()),
		}, messages[:size.serial])},
		{Name: "river", Ops: size.concurrent, Run: refilled(b.Context(),
			rival.NewRiver(db.Pool, broker.Brokers, rival.BestRiver()), messages[:size.concurrent])},
		{Name: "skiplocked", Ops: size.concurrent, Run: refilled(b.Context(),
			rival.NewSkipLocked(db.Pool, broker.Brokers, rival.BestSkipLocked()), messages[:size.concurrent])},
		{Name: "watermill-kafka", Ops: size.concurrent, Run: func(int) (time.Duration, error) {
			return publisher.Drain(b.Context(), messages[:size.concurrent])
		}},
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", arriving(b, broker, topic, contenders)...)
}

// rivalsSize is how much the rivals carry, of those that send many messages at once from
// memory or by pages, of those that send some at once, and of those that send one after
// the other.
type rivalsSize struct {
	fast, concurrent, serial, rounds int
}

// refillable is a rival whose table is filled again before each round.
type refillable interface {
	// Fill leaves the messages in the table, and nothing else.
	Fill(ctx context.Context, messages []outbox.Message) error
	// Drain publishes count messages.
	Drain(ctx context.Context, count int) (time.Duration, error)
}

// refilled fills and drains. What is returned is how long it took to drain.
func refilled(ctx context.Context, r refillable, messages []outbox.Message) func(int) (time.Duration, error) {
	return func(int) (time.Duration, error) {
		if err := r.Fill(ctx, messages); err != nil {
			return 0, err
		}
		return r.Drain(ctx, len(messages))
	}
}

// forwarderQueue is a forwarder whose schema has no consumer groups.
type forwarderQueue struct {
	forwarder *rival.Forwarder
}

func (f forwarderQueue) Fill(ctx context.Context, messages []outbox.Message) error {
	return f.forwarder.Refill(ctx, messages)
}

func (f forwarderQueue) Drain(ctx context.Context, count int) (time.Duration, error) {
	return f.forwarder.Drain(ctx, "", count)
}

// warmTopic lets a broker that has just started see some load, where figures count.
func warmTopic(b *testing.B, broker *testenv.KafkaEnv, messages []outbox.Message) {
	b.Helper()
	if *scaleName == scaleCI {
		return
	}
	raw, err := rival.NewRaw(broker.Brokers)
	require.NoError(b, err)
	defer raw.Close()
	warm(b, raw, rival.KafkaRecords(messages[0].Topic, messages, time.Now()))
}

// BenchmarkDeduplicator measures what a middleware costs that drops repeats by what it
// remembers in memory: leat's Dedupe, and Watermill's Deduplicator by three of its keys.
//
// They do not promise the same. Watermill's remembers a message before its handler runs,
// so that one whose handler fails is dropped when it comes again, and is lost; it drops new
// messages whose payloads have the same hash, which the default, 32 bits of Adler, makes
// happen; and it forgets by time alone. Leat's holds a lease while the handler runs, and
// remembers what has succeeded, by id. Neither outlives the process.
func BenchmarkDeduplicator(b *testing.B) {
	size := scale(b).dedupe
	for _, seen := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "seen"}[seen], func(b *testing.B) {
			for _, lanes := range []int{1, 8} {
				b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { deduplicate(b, size, lanes, seen) })
			}
		})
	}
	b.Run("kept", func(b *testing.B) { keep(b, size.kept) })
}

// deduplicatorSize is the messages of a round, those that are remembered where it is
// measured what that takes, and rounds.
type deduplicatorSize struct {
	messages, kept, rounds int
}

// deduplicator is a middleware that drops repeats.
type deduplicator struct {
	name string
	// exact is whether it takes two messages for the same by their ids or by a hash
	// that has no collisions.
	exact bool
	wrap  message.HandlerMiddleware
}

// deduplicators remember for window or longer, all but leat's, which does for a day.
func deduplicators(window time.Duration) ([]deduplicator, error) {
	store, err := memdedupe.New(memdedupe.Config{})
	if err != nil {
		return nil, err
	}
	processor, err := dedupe.New(store, "benchmark", dedupe.Config{})
	if err != nil {
		return nil, err
	}
	once, err := middleware.NewDedupe(middleware.DedupeConfig{Processor: processor})
	if err != nil {
		return nil, err
	}
	all := []deduplicator{{"leat", true, once}}
	for _, d := range []struct {
		name  string
		exact bool
		key   wmiddleware.MessageHasher
	}{
		{"watermill-adler32", false, wmiddleware.NewMessageHasherAdler32(payloadBytes)},
		{"watermill-sha256", true, wmiddleware.NewMessageHasherSHA256(payloadBytes)},
		{"watermill-id", true, byID},
	} {
		wrap, err := watermillDeduplicator(d.key, window)
		if err != nil {
			return nil, err
		}
		all = append(all, deduplicator{d.name, d.exact, wrap})
	}
	return all, nil
}

// byID is the hasher that costs nothing.
func byID(msg *message.Message) (string, error) { return msg.UUID, nil }

// watermillDeduplicator has a goroutine that nothing ends, and that holds its keys.
func watermillDeduplicator(key wmiddleware.MessageHasher, window time.Duration) (message.HandlerMiddleware, error) {
	keys, err := wmiddleware.NewMapExpiringKeyRepository(window)
	if err != nil {
		return nil, err
	}
	return (&wmiddleware.Deduplicator{KeyFactory: key, Repository: keys, Timeout: time.Minute}).Middleware, nil
}

// deduplicate measures rounds of messages that are new, or that have all been seen.
func deduplicate(b *testing.B, size deduplicatorSize, lanes int, seen bool) {
	b.Helper()
	window := time.Minute // Watermill's default
	if seen {
		window = 24 * time.Hour
	}
	all, err := deduplicators(window)
	require.NoError(b, err)
	var contenders []compare.Contender
	for _, d := range all {
		random := newRandom()
		var ran atomic.Int64
		handle := handler(d, &ran)
		first := randomMessages(b.Context(), random, size.messages)
		_, err := deliverThese(1, first[:1], handle) // notes where ids come from, while others would be refused
		require.NoError(b, err)
		_, err = deliverThese(lanes, first, handle)
		require.NoError(b, err)
		contenders = append(contenders, compare.Contender{Name: d.name, Ops: size.messages, Run: func(int) (time.Duration, error) {
			messages := first
			if !seen {
				messages = randomMessages(b.Context(), random, size.messages)
			}
			ran.Store(0)
			took, err := deliverThese(lanes, messages, handle)
			if err != nil {
				return 0, err
			}
			return took, expectRuns(d, seen, int(ran.Load()), size.messages)
		}})
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
}

// expectRuns makes sure that new messages were handled and others not. A hash of 32 bits
// may drop one new message in a hundred.
func expectRuns(d deduplicator, seen bool, ran, of int) error {
	least, most := of, of
	switch {
	case seen:
		least, most = 0, 0
	case !d.exact:
		least = of - of/100
	}
	if ran < least || ran > most {
		return fmt.Errorf("handled %d of %d messages, want %d to %d", ran, of, least, most)
	}
	return nil
}

// handler counts what the middleware lets through.
func handler(d deduplicator, ran *atomic.Int64) func(*message.Message) error {
	wrapped := d.wrap(func(*message.Message) ([]*message.Message, error) {
		ran.Add(1)
		return nil, nil
	})
	return func(msg *message.Message) error {
		_, err := wrapped(msg)
		return err
	}
}

// keep measures what a message takes that is remembered, and how many new ones of a
// million are dropped: of fewer where there are fewer, times what is missing. Each is
// alone in a process, which does not keep what Watermill's holds for ever.
func keep(b *testing.B, count int) {
	b.Helper()
	const million = 1_000_000
	all, err := deduplicators(time.Minute)
	require.NoError(b, err)
	b.ReportMetric(0, "ns/op")
	for range b.N {
		for _, d := range all {
			report := runProcess(b, processTask{Deduplicator: d.name, Messages: count})
			require.NoError(b, expectRuns(d, false, count-report.Dropped, count))
			dropped := float64(report.Dropped) * million / float64(count)
			b.ReportMetric(report.Kept, d.name+"-B/id")
			b.ReportMetric(dropped, d.name+"-dropped/million")
			results.Record(b, d.name, "B/id", report.Kept)
			results.Record(b, d.name, "dropped/million", dropped)
		}
	}
}

// remember hands new messages to the deduplicator of that name.
func remember(ctx context.Context, name string, count int) (report processReport, err error) {
	all, err := deduplicators(24 * time.Hour)
	if err != nil {
		return report, err
	}
	at := slices.IndexFunc(all, func(d deduplicator) bool { return d.name == name })
	if at < 0 {
		return report, fmt.Errorf("there is no deduplicator %q", name)
	}
	var ran atomic.Int64
	handle, random := handler(all[at], &ran), newRandom()
	before := heap()
	for range count {
		if err := handle(randomMessage(ctx, random)); err != nil {
			return report, err
		}
	}
	report.Kept = float64(heap()-before) / float64(count)
	report.Dropped = count - int(ran.Load())
	runtime.KeepAlive(handle)
	return report, nil
}

// heap is what the collector leaves.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// newRandom returns a source that is the same for all contenders.
func newRandom() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{1}) }

func randomMessages(ctx context.Context, random *rand.ChaCha8, count int) []*message.Message {
	messages := make([]*message.Message, count)
	for i := range messages {
		messages[i] = randomMessage(ctx, random)
	}
	return messages
}

// payloadBytes are hashed, all of them. Without a limit, which is the default, a hasher
// takes a buffer of 32 KiB for each message.
const payloadBytes = 512

// randomMessage returns one that has not been before.
func randomMessage(ctx context.Context, random *rand.ChaCha8) *message.Message {
	payload := make([]byte, payloadBytes)
	_, _ = random.Read(payload) // it never fails
	msg := message.NewMessage(uuid.Must(uuid.NewV7()).String(), payload)
	msg.SetContext(ctx)
	return msg
}
