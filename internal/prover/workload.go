package prover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// Parameters of the workload that servers know.
const (
	// Keys is the number of keys, k00 and so on.
	Keys = 12
	// PoolSize bounds the connections of producers and consumers, and of each relay.
	PoolSize = 8
	// Consumer is the name of the consumer.
	Consumer = "prove"
	// Between is the shortest pause.
	Between = 20 * time.Millisecond
	// Standstill is the time without any progress after which nothing is waited for.
	Standstill = 15 * time.Second
)

const (
	producers, consumers, relays = 5, 4, 2
	topicName                    = "leat-prove"

	holdFor       = 3 * time.Second // how long a transaction is left open
	lostAnswers   = 0.02            // fraction of stored records
	twice         = 0.1             // fraction of deliveries
	few           = 10              // messages; with fewer the result is not known
	relayLease    = 3 * time.Second
	replacedAfter = 4 * time.Second
)

// Shop is a store with a small business: an outbox, an inbox, and tables of its own.
type Shop interface {
	// Produce enqueues m and writes its row to the ledger, in one transaction. hold is given the number of
	// the message in its key, and takes a while, in which the transaction stays open; if it returns false,
	// the transaction is rolled back. The result is [history.Committed], Aborted or Unknown. An error before
	// COMMIT is a rollback.
	Produce(ctx context.Context, m outbox.Message, hold func(version int64) bool) (history.Type, error)
	// Source reads the outbox on connections of its own.
	Source(ctx context.Context, w *Wires) (source driver.Source, end func(), err error)
	// Consume processes msg. Its effect is a row.
	Consume(ctx context.Context, msg *message.Message) (inbox.Outcome, error)
	// Truth returns the content of the tables, as read from the primary.
	Truth(ctx context.Context) (Truth, error)
	// Waiting returns the messages that still wait in the outbox, in any state.
	Waiting(ctx context.Context, ids []string) ([]string, error)
	// CutOne cuts a connection of producers or consumers.
	CutOne() bool
	// End cuts all connections.
	End()
}

// Row is a row of the ledger, or of effects.
type Row struct {
	ID, Key string
	Version int64 // of the ledger
	Number  int64 // of effects, ascending in the order of their commits
}

// Truth is what was committed.
type Truth struct{ Ledger, Effects []Row }

// workload is one run of the workload.
type workload struct {
	t    *Trial
	shop Shop
	log  *history.Writer
	dir  string

	topic   topic
	acked   atomic.Int64 // distinct messages of the topic whose effect exists
	cuts    atomic.Int64
	relays  atomic.Int64
	mu      sync.Mutex
	trouble map[string]error // the last error of each role
}

// note records the last error of a role.
func (w *workload) note(who string, err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, net.ErrClosed) { // caused by the workload itself
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble[who] = err
}

// write appends to the history.
func (w *workload) write(lines ...history.Line) {
	for _, line := range lines {
		w.note("history", w.log.Write(line))
	}
}

func (w *workload) fault(point, kind string) {
	now := time.Now().UnixMicro()
	w.write(history.Line{Type: history.Fault, Point: point, Kind: kind, At: now, Until: now})
}

// runWorkload runs the workload for a time, waits until all messages have arrived, and judges the result.
func runWorkload(t *Trial, server Server, lasts time.Duration) {
	dir, err := os.MkdirTemp("", "leat-prove-*")
	fail.If(err)
	defer func() { _ = os.RemoveAll(dir) }()
	log, err := history.Append(filepath.Join(dir, "run.jsonl"), "prove")
	fail.If(err)
	defer func() { _ = log.Close() }()
	shop, err := server.Shop(t.ctx)
	fail.If(err)
	defer shop.End()
	w := &workload{t: t, shop: shop, log: log, dir: dir, trouble: map[string]error{}}
	w.topic.lose, w.topic.lost = lostAnswers, func() { w.fault("sink", "lost answer") }

	ctx, stop := context.WithCancel(t.ctx)
	var working, serving sync.WaitGroup
	defer func() {
		stop()
		working.Wait()
		serving.Wait()
		w.late()
	}()
	produce, enough := context.WithTimeout(ctx, lasts)
	defer enough()
	for i := range producers {
		working.Go(func() { w.produce(ctx, produce, i) })
	}
	for i := range consumers {
		serving.Go(func() { w.consume(ctx, i) })
	}
	for range relays {
		serving.Go(func() { w.relay(ctx, produce) })
	}
	working.Go(func() { w.cut(produce) })
	working.Wait()
	fail.If(t.ctx.Err())
	left := w.drain()
	stop()
	serving.Wait()
	w.judge(left)
}

// late adds how far the workload has come, once its time is over.
func (w *workload) late() {
	if errors.Is(w.t.ctx.Err(), context.DeadlineExceeded) {
		w.t.Say(CouldNotTry, "when its time was over, %d messages were sent and %d had their effect", w.topic.distinct(), w.acked.Load())
		w.tellTrouble()
	}
}

// tellTrouble adds the last error of each role that has had one.
func (w *workload) tellTrouble() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, who := range slices.Sorted(maps.Keys(w.trouble)) {
		w.t.Say(OK, "the last error of a %s: %s", who, w.trouble[who])
	}
}

// produce runs transactions until the context produce ends. Some are rolled back, and some stay open for a
// while.
func (w *workload) produce(ctx, produce context.Context, producer int) {
	for n := 0; wait.For(produce, Between+time.Duration(rand.Int64N(int64(5*Between)))) == nil; n++ { //nolint:gosec // any will do
		id := fmt.Sprintf("%s-%d-%04d", filepath.Base(w.dir)[len("leat-prove-"):], producer, n)
		key := fmt.Sprintf("k%02d", rand.IntN(Keys)) //nolint:gosec // any will do
		m := outbox.Message{ID: id, Topic: topicName, Key: key, Payload: []byte("message " + id)}
		as, err := w.shop.Produce(ctx, m, func(version int64) bool {
			w.write(history.Line{Type: history.Intent, ID: id, Key: key, Version: version, Topic: topicName, Digest: digest(key, m.Payload)})
			if producer == 0 && n%20 == 10 {
				_ = wait.For(produce, holdFor)
			} else if n%7 == 3 {
				_ = wait.For(produce, 5*Between)
			}
			return rand.IntN(6) > 0 //nolint:gosec // any will do
		})
		w.note("producer", err)
		w.write(history.Line{Type: as, ID: id})
	}
}

func digest(key string, payload []byte) string {
	sum := sha256.Sum256(append([]byte(key+"\x00"), payload...))
	return hex.EncodeToString(sum[:])
}

// relay runs one relay after another, until ctx ends. Some are stopped, and some lose all connections at once.
// The relay that runs when produce ends stays.
func (w *workload) relay(ctx, produce context.Context) {
	for ctx.Err() == nil {
		var mine Wires
		running, stop := context.WithCancel(ctx)
		kill := time.AfterFunc(replacedAfter+time.Duration(rand.Int64N(int64(replacedAfter))), func() { //nolint:gosec // any will do
			if produce.Err() != nil {
				return
			}
			w.fault("relay", "replaced")
			if rand.IntN(2) == 0 { //nolint:gosec // any will do
				mine.CutAll(true)
			}
			stop()
		})
		cut := make(chan struct{})
		go func() {
			defer close(cut)
			for wait.For(running, replacedAfter/2+time.Duration(rand.Int64N(int64(replacedAfter)))) == nil && produce.Err() == nil { //nolint:gosec // any will do
				if mine.CutOne() {
					w.cuts.Add(1)
					w.fault("relay", "cut")
				}
			}
		}()
		w.note("relay", w.runRelay(running, &mine))
		kill.Stop()
		stop()
		<-cut
		_ = wait.For(ctx, 5*Between)
	}
}

func (w *workload) runRelay(ctx context.Context, mine *Wires) error {
	source, end, err := w.shop.Source(ctx, mine)
	if err != nil {
		return err
	}
	defer end()
	w.relays.Add(1)
	r, err := relay.New(source, &w.topic, relay.Config{
		Lease: relayLease, PublishTimeout: relayLease / 3, LeaseMargin: relayLease / 6, PollMax: 10 * Between,
		BackoffMin: Between, BackoffMax: 10 * Between, DrainTimeout: relayLease,
		Logger: slog.New(slog.DiscardHandler), Hooks: []outbox.Hook{relayErrors{w}},
	})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// relayErrors records the errors that relays recover from.
type relayErrors struct{ w *workload }

// OnRelayError implements relay.ErrorHook.
func (h relayErrors) OnRelayError(_ context.Context, e relay.ErrorEvent) {
	h.w.note("relay", fmt.Errorf("%s: %w", e.Operation, e.Err))
}

// cut cuts connections of producers and consumers.
func (w *workload) cut(produce context.Context) {
	for wait.For(produce, replacedAfter/4+time.Duration(rand.Int64N(int64(replacedAfter/4)))) == nil { //nolint:gosec // any will do
		if w.shop.CutOne() {
			w.cuts.Add(1)
			w.fault("shop", "cut")
		}
	}
}

// consume processes the records of some keys, each until it is acknowledged. Some records are processed
// twice at the same time.
func (w *workload) consume(ctx context.Context, consumer int) {
	done := map[string]bool{}
	for at := 0; ; at++ {
		r, ok := w.topic.wait(ctx, at)
		if !ok {
			return
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(r.key))
		if int(h.Sum32()%consumers) != consumer {
			continue
		}
		deliveries := 1
		if rand.Float64() < twice { //nolint:gosec // any will do
			deliveries = 2
		}
		var all sync.WaitGroup
		for range deliveries {
			all.Go(func() { w.deliver(ctx, r) })
		}
		all.Wait()
		if ctx.Err() == nil && !done[r.id] {
			done[r.id] = true
			w.acked.Add(1)
		}
	}
}

func (w *workload) deliver(ctx context.Context, r record) {
	for ctx.Err() == nil {
		w.write(history.Line{Type: history.Delivered, ID: r.id, Consumer: Consumer})
		msg := message.NewMessage(r.id, r.payload)
		msg.Metadata.Set(outbox.HeaderEventID, r.id)
		msg.Metadata.Set("key", r.key)
		switch outcome, err := w.shop.Consume(ctx, msg); outcome {
		case inbox.OutcomeCommitted:
			w.write(history.Line{Type: history.Effect, ID: r.id, Consumer: Consumer})
			return
		case inbox.OutcomeDuplicate:
			return
		default:
			w.note("consumer", err)
		}
		_ = wait.For(ctx, Between)
	}
}

// drain waits until every message of the ledger is in the topic and has its effect, or until there is no
// more progress. It returns the messages that are not in the topic.
func (w *workload) drain() (left []string) {
	truth, err := w.shop.Truth(w.t.ctx)
	fail.If(err)
	before, since := int64(-1), time.Now()
	for ; ; w.t.Pause(Between) {
		left = left[:0]
		for _, r := range truth.Ledger {
			if !w.topic.has(r.ID) {
				left = append(left, r.ID)
			}
		}
		acked := w.acked.Load()
		if len(left) == 0 && int(acked) >= w.topic.distinct() {
			return nil
		}
		if moved := acked - int64(len(left)); moved != before {
			before, since = moved, time.Now()
		}
		if time.Since(since) > Standstill {
			return left
		}
	}
}

// topic is the destination of the relays. It is a driver.Sink.
type topic struct {
	lose float64
	lost func()

	mu      sync.Mutex
	records []record
	ids     map[string]bool
	more    chan struct{}
}

type record struct {
	id, key, topic string
	payload        []byte
	at             time.Time
}

var errLostAnswer = errors.New("the answer was lost")

// Send implements driver.Sink. It stores some records but reports them as failed.
func (p *topic) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	failed := map[driver.Key]bool{}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids, p.more = map[string]bool{}, make(chan struct{})
	}
	for i := range records {
		r := &records[i]
		lane := driver.Key{Topic: r.Topic, Key: r.Key}
		if failed[lane] {
			results[i] = outbox.NotSent()
			continue
		}
		p.records = append(p.records, record{r.ID, r.Key, r.Topic, append([]byte(nil), r.Payload...), time.Now()})
		p.ids[r.ID] = true
		if rand.Float64() < p.lose { //nolint:gosec // any will do
			failed[lane] = true
			results[i] = outbox.Failed(outbox.FailureUnknown, errLostAnswer)
			p.lost()
		}
	}
	close(p.more)
	p.more = make(chan struct{})
	return results
}

// wait returns the record at the offset once it exists.
func (p *topic) wait(ctx context.Context, at int) (record, bool) {
	for {
		p.mu.Lock()
		if p.more == nil {
			p.ids, p.more = map[string]bool{}, make(chan struct{})
		}
		more := p.more
		if at < len(p.records) {
			r := p.records[at]
			p.mu.Unlock()
			return r, true
		}
		p.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return record{}, false
		}
	}
}

func (p *topic) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[id]
}

func (p *topic) distinct() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}
