package kafkasink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// firstFlush and longestFlush bound the wait between two checks of a flush.
const (
	firstFlush   = 20 * time.Millisecond
	longestFlush = time.Second
)

// round is one handover of records to the client, from the first Produce to the last promise.
type round struct {
	// unplaced counts records that have no partition yet; placed is closed when none are left.
	unplaced atomic.Int64
	placed   chan struct{}

	// pending counts records without an answer. The client resolves promises from one goroutine
	// at a time; failed is closed at the first failure.
	pending  sync.WaitGroup
	failed   chan struct{}
	failures map[*kgo.Record]error
}

func newRound(n int) *round {
	r := &round{placed: make(chan struct{}), failed: make(chan struct{})}
	r.unplaced.Store(int64(n))
	r.pending.Add(n)
	return r
}

func (r *round) place() {
	if r.unplaced.Add(-1) == 0 {
		close(r.placed)
	}
}

func (r *round) resolve(record *kgo.Record, err error) {
	if err != nil {
		if r.failures == nil {
			r.failures = make(map[*kgo.Record]error)
			close(r.failed)
		}
		r.failures[record] = err
	}
	r.pending.Done()
}

// placing is the client's hook that follows records into their partitions.
type placing struct {
	round atomic.Pointer[round]
}

var _ kgo.HookProduceRecordPartitioned = (*placing)(nil)

// OnProduceRecordPartitioned implements kgo.HookProduceRecordPartitioned.
func (p *placing) OnProduceRecordPartitioned(*kgo.Record, int32) {
	if r := p.round.Load(); r != nil {
		r.place()
	}
}

// produce hands all records to the client, waits until each is in the buffer of its partition,
// flushes, and waits until the client has answered for every one. If there was a failure, the
// client is closed on return: what it sends next could overtake what has failed.
//
// The wait before the flush matters as much. A client that does not know a topic yet sets records
// aside and places them one by one once it does. If it were flushing at that time, a batch could
// be rejected half-way, and the records placed after that would be sent. See rule R11 and design
// 6.2.
func (s *Sink) produce(ctx context.Context, records []kgo.Record) map[*kgo.Record]error {
	r := newRound(len(records))
	s.placing.round.Store(r)
	defer s.placing.round.Store(nil)
	// Ending the context of a single record fails its partition at a moment that the client
	// chooses. Our context ends all of them at once, by closing the client.
	own := context.WithoutCancel(ctx)
	resolve := r.resolve
	for i := range records {
		s.client.Produce(own, &records[i], resolve)
	}
	select {
	case <-r.placed:
		if failpoint.Inject(ctx, failpoint.RelayMidBatch) != nil || s.flush(ctx) != nil {
			s.drop()
		}
	case <-r.failed: // nothing was sent yet, and nothing will be
		s.drop()
	case <-ctx.Done():
		s.drop()
	}
	r.pending.Wait()
	if len(r.failures) > 0 {
		s.drop()
	}
	return r.failures
}

// flush waits until the client has answered for all records.
//
// Once is not enough. A client that has just learned of a topic places the records that waited
// for it before it publishes the topic's partitions; a flush in between finds no partition to
// start, and waits for records that are not being sent. The next one starts them, and does
// nothing if they are being sent already.
func (s *Sink) flush(ctx context.Context) error {
	for wait := firstFlush; ; wait = min(2*wait, longestFlush) {
		part, cancel := context.WithTimeout(ctx, wait)
		err := s.client.Flush(part)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// partition is the unit that fails together.
type partition struct {
	topic  string
	number int32
}

// settle writes the results of a round that failed. In a partition the first failed record stands
// for all of them: nothing after it was delivered.
func (s *Sink) settle(ctx context.Context, c *call, records []kgo.Record, index []int32, failures map[*kgo.Record]error) {
	together := make(map[partition]int)
	for i := range records {
		if failures[&records[i]] != nil {
			together[partition{records[i].Topic, records[i].Partition}]++
		}
	}
	var first error
	for i := range records {
		err := failures[&records[i]]
		if err == nil {
			continue
		}
		place := int(index[i])
		lane := partition{records[i].Topic, records[i].Partition}
		count := together[lane]
		untimely := errors.Is(err, kerr.InvalidTimestamp)
		again := untimely && s.page.refusedTime(&records[i])
		if count == 0 {
			c.skip(place)
			continue
		}
		together[lane] = 0
		kind, err := s.verdict(ctx, records[i].Topic, count, err)
		switch {
		case again:
			err = fmt.Errorf("%w: %w", errUntimely, err)
		case untimely:
			kind = outbox.FailureUnknown // the next call sends it with the current time
		}
		if first == nil {
			first = err
		}
		c.fail(place, kind, err)
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "kafka delivery failed, the client is replaced",
		slog.Int("records", len(failures)), slog.Any("error", first))
	s.replaced(ctx, "", len(failures), first)
}

// verdict classifies err, which has failed count records of a partition together. A rejected
// batch shows nothing about its records unless it held only one. See design 6.3.
func (s *Sink) verdict(ctx context.Context, name string, count int, err error) (outbox.FailureKind, error) {
	if errors.Is(err, kgo.ErrClientClosed) && ctx.Err() != nil {
		err = fmt.Errorf("leat: kafka has not acknowledged in time: %w", context.Cause(ctx))
	}
	kind := classify(err)
	if kind == outbox.FailurePermanent && count > 1 {
		s.topics.get(name).careful += count
		kind = outbox.FailureUnknown
	}
	if errors.Is(err, kerr.TopicAuthorizationFailed) { // the right was withdrawn after the topic was looked up
		err = explainTopic(name, err)
	}
	if kind == outbox.FailureOutage {
		err = s.unreachable(needsProducerID(err, name))
	}
	return kind, err
}

func (s *Sink) replaced(ctx context.Context, slot string, records int, err error) {
	e := driver.ReplaceEvent{Slot: slot, Records: records, Err: err}
	hooks.Call(ctx, s.cfg.Logger, s.cfg.Hooks, func(h driver.ReplaceHook) { h.OnDriverReplace(ctx, e) })
}
