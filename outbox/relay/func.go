package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// ErrPanic is wrapped by the error of a record whose function has panicked.
var ErrPanic = errors.New("leat: the function of a sink has panicked")

// FuncConfig tunes a FuncSink. The zero value is a good start.
type FuncConfig struct {
	// Lanes is the number of calls of the function that run at the same time, 1 to
	// 1,024, for each slot that the relay leads. Defaults to 16.
	Lanes int

	// KeylessConcurrent lets the function be called for several records without a key at
	// the same time. It must bear that: two calls that read, add and write what no lock
	// protects lose one of the sums. Defaults to false: of a topic's records without a key,
	// one at a time, in order, for each slot that the relay leads.
	KeylessConcurrent bool
}

const (
	defaultLanes = 16
	maxLanes     = 1024
)

// FuncSink is a Sink for side effects such as HTTP requests or text messages, and
// for read models: one call of a function a record. It is safe for concurrent use.
type FuncSink struct {
	fn   func(ctx context.Context, r outbox.Record) error
	cfg  FuncConfig
	seed maphash.Seed
}

var _ driver.Sink = (*FuncSink)(nil)

// Func returns a Sink that calls fn once a record: in order within a topic and
// key, and for Lanes keys at the same time. Where fn fails, nothing of the key is
// called before that record is tried again; the relay's policies say how often, and
// Block makes it a queue per key that skips nothing. Records without a key are called
// one at a time, unless FuncConfig.KeylessConcurrent is set, but one that fails does
// not hold up the later ones.
//
// An effect is carried out at least once: after a crash fn can see a record again
// that it has seen. IdempotencyKey is for the other side to recognise it.
//
// The error says what it means where fn returns that of outbox.Failed:
// outbox.FailureOutage where the other side is away, which costs the record no
// attempt; outbox.FailurePermanent where it refuses this record for good. Any other
// error is unknown, and so is a panic.
//
// fn must return soon after its context has ended, which is Config.PublishTimeout
// after the relay has handed over the page; in the last third of that time no call
// is begun, so that a call is cut short only where it takes longer than that. It
// must not change the record nor keep its payload and headers.
//
// It returns an error that wraps outbox.ErrInvalidConfig where an argument cannot
// work.
func Func(fn func(ctx context.Context, r outbox.Record) error, cfg FuncConfig) (*FuncSink, error) {
	if fn == nil {
		return nil, outbox.ConfigError("fn", nil, "must not be nil")
	}
	cfg.Lanes = cmp.Or(cfg.Lanes, defaultLanes)
	if cfg.Lanes < 1 || cfg.Lanes > maxLanes {
		return nil, outbox.ConfigError("Lanes", cfg.Lanes, "must be 1 to 1024")
	}
	return &FuncSink{fn: fn, cfg: cfg, seed: maphash.MakeSeed()}, nil
}

type idempotencyKey struct{}

// IdempotencyKey returns the id of the record that the function of a FuncSink was
// called for, from the context that it was given: the same in each repeat, and
// unlike for every other record. Send it along (as header Idempotency-Key, say), so
// that the other side carries each effect out once. It is empty elsewhere.
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKey{}).(string)
	return key
}

// Send implements Sink.
func (s *FuncSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	var late time.Time
	if deadline, ok := ctx.Deadline(); ok {
		late = deadline.Add(-time.Until(deadline) / 3)
	}
	var lanes sync.WaitGroup
	for _, places := range s.spread(records) {
		if len(places) > 0 {
			lanes.Go(func() { s.lane(ctx, late, records, places, results) })
		}
	}
	lanes.Wait()
	return results
}

// spread deals the records out to the lanes.
func (s *FuncSink) spread(records []outbox.Record) [][]int32 {
	lanes := make([][]int32, s.cfg.Lanes)
	for i := range records {
		r := &records[i]
		at := uint64(r.Seq) //nolint:gosec // any number will do
		if r.Key != "" || !s.cfg.KeylessConcurrent {
			at = maphash.Comparable(s.seed, driver.Key{Topic: r.Topic, Key: r.Key})
		}
		at %= uint64(len(lanes))
		lanes[at] = append(lanes[at], int32(i))
	}
	return lanes
}

// lane calls the function for the records of places, in order, and stops a key at
// its first failure, and a topic at an outage. Nothing but the first is begun late.
func (s *FuncSink) lane(ctx context.Context, late time.Time, records []outbox.Record, places []int32, results []outbox.Result) {
	keys, topics := make(map[driver.Key]struct{}), make(map[string]struct{})
	for n, i := range places {
		r := &records[i]
		_, key := keys[keyOf(r)]
		_, topic := topics[r.Topic]
		if topic || key && r.Key != "" || n > 0 && !late.IsZero() && time.Now().After(late) {
			results[i] = outbox.NotSent()
			continue
		}
		err := s.call(ctx, r)
		if err == nil {
			continue
		}
		kind := outbox.KindOf(err)
		if kind == outbox.FailureNotSent {
			kind = outbox.FailureUnknown
		}
		if ctx.Err() != nil {
			kind = outbox.FailureOutage // it was cut short
		}
		results[i] = outbox.Failed(kind, err)
		keys[keyOf(r)] = struct{}{}
		if kind == outbox.FailureOutage {
			topics[r.Topic] = struct{}{}
		}
	}
}

// call calls the function once.
func (s *FuncSink) call(ctx context.Context, r *outbox.Record) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := failpoint.Inject(ctx, failpoint.RelayMidBatch); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return s.fn(context.WithValue(ctx, idempotencyKey{}, r.ID), *r)
}
