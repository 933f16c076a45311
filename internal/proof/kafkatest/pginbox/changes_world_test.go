package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
)

// world is a service: producers that write to an outbox, and the relays and consumers that a test starts.
type world struct {
	store

	t             *testing.T
	kafka         *testenv.KafkaEnv
	orders, mails string
	named         string // the group
	log           *testenv.Log

	refuses, missing, fails, silent atomic.Bool  // sinks refuse poison and lack a topic, handlers fail, nobody writes mails
	sick                            string       // part of the ids whose handlers fail
	acked, again                    atomic.Int64 // messages sent, and deliveries that were recognised
	sending                         stretch
	streams                         func() []string // returns what was sent elsewhere than to Kafka

	writing sync.Mutex // held by who writes, so that keys have the order of the commits
	written map[string]event
	order   map[driver.Key][]string
	left    []string        // ids that are left out
	judged  map[string]bool // tables of effects
	repeats bool            // what was sent may be sent again
	unsure  map[string]bool // ids whose commit has failed, which may be there all the same; nil if none may fail
	former  []*testenv.KafkaEnv
	quit    chan struct{}
	quiet   sync.WaitGroup

	consumers []*instance
	relays    []func() error
	closing   []func() error
}

type event struct {
	topic, key string
	no         int // in its key
}

func by() admin.By { return admin.By{Actor: "ann", Reason: "a change"} }

func newWorld(t *testing.T, open opener) *world {
	t.Helper()
	w := &world{
		t: t, kafka: testenv.RealKafka(t), log: testenv.NewLog(), named: "default", sick: "/bad/",
		written: map[string]event{}, order: map[driver.Key][]string{}, judged: map[string]bool{},
	}
	w.orders, w.mails = w.kafka.Topic(t, "orders", 3), w.kafka.Topic(t, "mails", 2)
	w.store = open(t, w.log.Logger())
	require.NoError(t, w.tables(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	maintain := w.maintain
	go func() { ended <- maintain(ctx) }()
	t.Cleanup(func() {
		w.end()
		cancel()
		require.NoError(t, <-ended)
	})
	w.startWriting()
	return w
}

// end stops everything that is still running.
func (w *world) end() {
	w.stopWriting()
	for _, c := range w.consumers {
		c.stop()
	}
	for _, stop := range append(w.relays, w.closing...) {
		if err := stop(); err != nil {
			w.t.Errorf("at the end: %v", err)
		}
	}
	w.consumers, w.relays, w.closing = nil, nil, nil
	if w.t.Failed() {
		all := w.log.String()
		w.t.Log(all[max(0, len(all)-20_000):])
	}
}

// startWriting starts producers that commit a message every 4 ms. Most have one of five keys of orders, or
// of a few keys of mails. Some are delayed and have no key, and some have the key "bad", whose records are
// refused as poison.
func (w *world) startWriting() {
	quit := make(chan struct{})
	w.quit = quit
	ticks := time.NewTicker(4 * time.Millisecond)
	w.quiet.Go(func() {
		defer ticks.Stop()
		for n := 0; ; n++ {
			select {
			case <-quit:
				return
			case <-ticks.C:
			}
			topic, key, later := w.orders, fmt.Sprint("k", n%5), time.Duration(0)
			switch {
			case n%20 == 7:
				key = "bad"
			case n%30 == 11:
				key, later = "", 300*time.Millisecond
			case n%3 == 0 && !w.silent.Load():
				topic, key = w.mails, fmt.Sprint("m", n%4)
			}
			if _, err := w.commit(topic, key, later); err != nil {
				w.t.Errorf("commit: %v", err)
				return
			}
		}
	})
}

func (w *world) stopWriting() {
	if w.quit != nil {
		close(w.quit)
		w.quit = nil
	}
	w.quiet.Wait()
}

// lull pauses the producers until no message of the log is waiting.
func (w *world) lull() {
	w.t.Helper()
	w.stopWriting()
	w.await("nothing of the log waits", func() bool { return w.backlog() == 0 })
	w.startWriting()
}

// commit writes one message, and records it.
func (w *world) commit(topic, key string, later time.Duration) (id string, err error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	at := driver.Key{Topic: topic, Key: key}
	id = fmt.Sprintf("%s/%s/%d", topic, key, len(w.order[at]))
	m := outbox.Message{Topic: topic, Key: key, Payload: []byte(id)}
	if later > 0 {
		m.NotBefore = time.Now().Add(later)
	}
	err = w.store.put(context.WithoutCancel(w.t.Context()), m)
	if err != nil && w.unsure != nil {
		w.unsure[id], err = true, nil
	}
	if err == nil {
		w.written[id] = event{topic, key, len(w.order[at])}
		w.order[at] = append(w.order[at], id)
	}
	return id, err
}

// put writes n messages of a key, and returns their ids.
func (w *world) put(topic, key string, n int) (ids []string) {
	w.t.Helper()
	for range n {
		id, err := w.commit(topic, key, 0)
		require.NoError(w.t, err)
		ids = append(ids, id)
	}
	return ids
}

// said reports whether some line of the log contains all of parts.
func (w *world) said(parts ...string) bool {
next:
	for line := range strings.Lines(w.log.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		return true
	}
	return false
}

// says waits until some line of the log contains all of parts.
func (w *world) says(parts ...string) {
	w.t.Helper()
	w.log.Await(w.t, parts...)
}

// picky is a sink that refuses the key "bad", and a missing topic.
type picky struct {
	driver.Sink

	w     *world
	lacks string
}

var errPoison = errors.New("poison")

// Send implements driver.Sink.
func (p *picky) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	var going []outbox.Record
	var places []int
	stopped := map[driver.Key]bool{}
	for i := range records {
		r := &records[i]
		at := driver.Key{Topic: r.Topic, Key: r.Key}
		switch {
		case stopped[at]:
			results[i] = outbox.NotSent()
		case r.Key == "bad" && p.w.refuses.Load():
			stopped[at] = true
			results[i] = outbox.Failed(outbox.FailurePermanent, errPoison)
		case r.Topic == p.lacks && p.w.missing.Load():
			stopped[at] = r.Key != ""
			results[i] = outbox.Failed(outbox.FailureOutage, fmt.Errorf("%w: %q", outbox.ErrTopicUnavailable, r.Topic))
		default:
			going, places = append(going, *r), append(places, i)
		}
	}
	if len(going) > 0 {
		for i, r := range p.Sink.Send(ctx, going) {
			results[places[i]] = r
		}
	}
	return results
}

// sink returns a new sink.
func (w *world) sink() driver.Sink { return w.sinkWith(kafkasink.PartitionJava) }

func (w *world) sinkWith(p kafkasink.Partitioner) driver.Sink {
	w.t.Helper()
	sink, err := kafkasink.New(w.kafka.Brokers, kafkasink.Config{Partitioner: p, Logger: w.log.Logger()})
	require.NoError(w.t, err)
	w.closing = append(w.closing, sink.Close)
	return &picky{Sink: sink, w: w}
}

// exact returns an exactly-once sink, which keeps positions.
func (w *world) exact() *kafkasink.Transactional {
	w.t.Helper()
	cfg := kafkasink.TransactionalConfig{TransactionalIDPrefix: w.kafka.Name("tx"), PositionTopic: w.kafka.Name("positions"), CreatePositionTopic: true}
	cfg.Logger = w.log.Logger()
	sink, err := kafkasink.NewTransactional(w.kafka.Brokers, cfg)
	require.NoError(w.t, err)
	w.closing = append(w.closing, sink.Close)
	return sink
}

// OnRelaySend implements relay.SendHook.
func (w *world) OnRelaySend(_ context.Context, e relay.SendEvent) {
	for i := range e.Results {
		if e.Results[i].Err == nil {
			w.acked.Add(1)
			w.sending.seen()
		}
	}
}

func (w *world) newRelay(g group, cfg relay.Config, sink driver.Sink) *relay.Relay {
	w.t.Helper()
	source, err := w.source(g)
	require.NoError(w.t, err)
	cfg.Logger, cfg.Hooks, cfg.PollMax = w.log.Logger(), []outbox.Hook{w}, 50*time.Millisecond
	r, err := relay.New(source, sink, cfg)
	require.NoError(w.t, err)
	return r
}

// relay runs a relay until the test ends, or the returned function is called.
func (w *world) relay(g group, cfg relay.Config, sink driver.Sink) (stop func() error) {
	w.t.Helper()
	r := w.newRelay(g, cfg, sink)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	w.relays = append(w.relays, stop)
	return stop
}

// refused checks that a relay refuses to run, and that its error contains says.
func (w *world) refused(g group, cfg relay.Config, sink driver.Sink, says string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	err := w.newRelay(g, cfg, sink).Run(ctx)
	require.ErrorIs(w.t, err, driver.ErrSourceUnusable)
	require.ErrorContains(w.t, err, says)
}

func (w *world) stopped(relays ...func() error) {
	w.t.Helper()
	for _, stop := range relays {
		require.NoError(w.t, stop())
	}
}

// patience limits every wait.
const patience = 2 * time.Minute

func (w *world) await(what string, is func() bool) {
	w.t.Helper()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for end := time.Now().Add(patience); !is(); <-ticks.C {
		if time.Now().After(end) {
			require.FailNow(w.t, "it did not happen: "+what, "%+v", w.stats())
		}
	}
}

// progress waits until n more messages are acknowledged.
func (w *world) progress(n int64) {
	w.t.Helper()
	until := w.acked.Load() + n
	w.await("messages are sent", func() bool { return w.acked.Load() >= until })
}

// parked waits until some records are parked or wait behind a parked one.
func (w *world) parked() {
	w.t.Helper()
	w.await("records are parked", func() bool { g := w.stats(); return g.Parked > 0 && g.Held >= 3 })
}

// stats returns the statistics of the group, with negative figures if it has none.
func (w *world) stats() (g admin.GroupStats) {
	stats, err := w.admin.Stats(context.WithoutCancel(w.t.Context()))
	if err != nil {
		w.t.Errorf("stats: %v", err)
	}
	for _, g := range stats.Groups {
		if g.Name == w.named && len(g.Slots) > 0 {
			return g
		}
	}
	return admin.GroupStats{Held: -1, Slots: []admin.SlotStats{{Backlog: -1}}}
}

// backlog returns how many messages of the log the group has not settled.
func (w *world) backlog() (n int64) {
	for _, s := range w.stats().Slots {
		n += s.Backlog
	}
	return n
}

func (w *world) group() (g admin.Group) {
	groups, err := w.admin.Groups(w.t.Context())
	require.NoError(w.t, err)
	for _, g := range groups {
		if g.Name == w.named {
			return g
		}
	}
	return g
}

func (w *world) redrive() {
	w.t.Helper()
	_, err := w.admin.Redrive(w.t.Context(), admin.ChangeRequest{By: by(), Group: w.named, Selection: admin.Selection{Topics: "*"}})
	require.NoError(w.t, err)
}

func (w *world) exec(statement string) {
	w.t.Helper()
	_, err := w.db.ExecContext(w.t.Context(), statement)
	require.NoError(w.t, err)
}

// rest stops the producers, ends all failures, and waits until nothing is in flight.
func (w *world) rest() {
	w.t.Helper()
	w.stopWriting()
	for _, b := range []*atomic.Bool{&w.refuses, &w.missing, &w.fails} {
		b.Store(false)
	}
	w.redrive()
	w.await("nothing waits", func() bool {
		delayed, err := w.admin.Delayed(w.t.Context(), admin.DelayedQuery{})
		require.NoError(w.t, err)
		return len(delayed) == 0 && w.stats().Held == 0 && w.backlog() == 0
	})
	for table := range w.judged {
		w.await("effects of all in "+table, func() bool {
			for _, consumer := range slices.Compact(slices.Sorted(slices.Values(w.inboxHolds()))) {
				w.redriveInbox(consumer) // also what a broken connection parks only now
			}
			return w.done(table)
		})
	}
	w.end()
}

// sent returns the ids of all records in the topics, in the order of their partitions, and the keys that
// occur in two partitions.
func (w *world) sent() (ids, moved []string) {
	w.t.Helper()
	if w.streams != nil {
		return w.streams(), nil
	}
	for _, cluster := range append(w.former, w.kafka) {
		there, apart := w.sentTo(cluster.Brokers)
		ids, moved = append(ids, there...), append(moved, apart...)
	}
	return ids, moved
}

func (w *world) sentTo(brokers []string) (ids, moved []string) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(w.orders, w.mails),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(50*time.Millisecond))
	require.NoError(w.t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(ctx, w.orders, w.mails)
	require.NoError(w.t, err)
	left := map[string]int64{} // the last offset of each partition
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[fmt.Sprint(o.Topic, o.Partition)] = o.Offset - 1
		}
	})
	partitions := map[string]int32{} // of keys
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		require.NoError(w.t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				ids = append(ids, string(r.Value))
				key := fmt.Sprintf("%s %s", r.Topic, r.Key)
				if p, known := partitions[key]; known && p != r.Partition && len(r.Key) > 0 {
					moved = append(moved, "in another partition: "+key)
				}
				partitions[key] = r.Partition
			}
			if at := fmt.Sprint(r.Topic, r.Partition); r.Offset >= left[at] {
				delete(left, at)
			}
		})
	}
	return ids, moved
}

// kafkasource returns a subscriber of a group.
func (w *world) kafkasource(group string, options ...kgo.Opt) *kafkasource.Subscriber {
	w.t.Helper()
	sub, err := kafkasource.NewSubscriber(w.kafka.Brokers, w.kafka.Name(group), kafkasource.Config{
		SessionTimeout: 6 * time.Second, DrainTimeout: 2 * time.Second, CommitInterval: 50 * time.Millisecond, MaxInFlight: 6,
		Concurrency: 3, RedeliverDelay: 5 * time.Millisecond, MaxRedeliverDelay: 50 * time.Millisecond, Options: options, Logger: w.log.Logger(), Marks: w.marks,
	})
	require.NoError(w.t, err)
	return sub
}

// instance is one replica of a consuming service.
type instance struct {
	stop func()
	ran  atomic.Int64 // how often its handler was called
}

// consume runs a handler of orders that writes to tables, also for redriven messages, until it is stopped.
func (w *world) consume(sub message.Subscriber, name string, m manner, tables ...string) *instance {
	w.t.Helper()
	for _, table := range tables {
		w.judged[table] = true
	}
	m.Logger, m.RedrivePoll, m.Hooks = w.log.Logger(), 50*time.Millisecond, []outbox.Hook{w}
	in, scope, err := w.inbox(name, m)
	require.NoError(w.t, err)
	c := &instance{}
	handle := func(ctx context.Context, msg *message.Message) error {
		c.ran.Add(1)
		id := string(msg.Payload)
		if w.fails.Load() && strings.Contains(id, w.sick) {
			return errPoison
		}
		for _, table := range tables {
			if err := w.effect(ctx, table, id); err != nil {
				return err
			}
		}
		return nil
	}
	run := w.runner(in, scope, sub, m, handle)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- run(ctx) }()
	redrive := in.RunRedrive
	if w.inboxes == nil {
		redrive = func(context.Context, func(context.Context, *message.Message) error) error { return nil }
	}
	go func() { ended <- redrive(ctx, handle) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, <-ended, sub.Close()); err != nil {
			w.t.Errorf("consumer %s: %v", name, err)
		}
	})
	w.consumers = append(w.consumers, c)
	return c
}

// runner returns a function that runs handle until its context ends, in batches or in a router.
func (w *world) runner(
	in *inbox.Processor, scope func(context.Context) (string, error), sub message.Subscriber, m manner,
	handle func(ctx context.Context, msg *message.Message) error,
) func(ctx context.Context) error {
	w.t.Helper()
	if source, ok := sub.(*kafkasource.Subscriber); ok && m.batches {
		batch, err := inbox.NewBatch(in, inbox.BatchConfig{})
		require.NoError(w.t, err)
		return func(ctx context.Context) error { return source.RunBatches(ctx, w.orders, batch.HandleEach(handle)) }
	}
	var processor inbox.Runner = in
	if m.cached {
		tiers, err := twotier.New(in, twotier.Config{Scope: scope, Logger: w.log.Logger()})
		require.NoError(w.t, err)
		processor = tiers
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: processor})
	require.NoError(w.t, err)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(w.log.Logger()))
	require.NoError(w.t, err)
	router.AddMiddleware(once)
	router.AddConsumerHandler(in.Consumer(), w.orders, sub, func(msg *message.Message) error { return handle(msg.Context(), msg) })
	return router.Run
}

// takes waits until a consumer receives messages, as a member of its group.
func (w *world) takes(c *instance) {
	w.t.Helper()
	w.await("a consumer takes messages", func() bool { return c.ran.Load() > 5 })
}

// effects waits for 20 more effects in a table.
func (w *world) effects(table string) {
	w.t.Helper()
	until := w.count(table) + 20
	w.await("effects in "+table, func() bool { return w.count(table) >= until })
}

func (w *world) count(table string) (n int) {
	w.t.Helper()
	if w.listed != nil {
		return len(slices.Compact(slices.Sorted(slices.Values(w.effectsIn(table)))))
	}
	require.NoError(w.t, w.db.QueryRowContext(w.t.Context(), "SELECT count(DISTINCT id) FROM "+table).Scan(&n))
	return n
}

// done reports whether each message of orders has taken effect.
func (w *world) done(table string) bool {
	w.writing.Lock()
	defer w.writing.Unlock()
	want := 0
	for _, e := range w.written {
		if e.topic == w.orders {
			want++
		}
	}
	return w.count(table) == want
}
