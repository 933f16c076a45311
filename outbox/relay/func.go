package relay

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// FuncConfig tunes Func. The zero value is a good start.
type FuncConfig struct {
	// Lanes is the number of calls of the function that run at the same time, 1 to
	// 1,024, for each slot that the relay leads. Defaults to 16.
	Lanes int

	// KeylessConcurrent lets the function be called for several records without a key at
	// the same time. The function must be safe for that: if two calls read, add and write
	// what no lock protects, one of the sums is lost. Defaults to false: for each slot that
	// the relay leads, the function is called for one record of a topic without a key at a
	// time, in order.
	KeylessConcurrent bool
}

const (
	defaultLanes = 16
	maxLanes     = 1024
)

// funcSink is a Sink for side effects such as HTTP requests or text messages, and for read
// models: it calls a function once per record. It is safe for concurrent use.
type funcSink struct {
	fn   func(ctx context.Context, r outbox.Record) error
	cfg  FuncConfig
	seed maphash.Seed
}

var _ driver.Sink = (*funcSink)(nil)

// Func returns a Sink that calls fn once per record: in order within a topic and key, and for up
// to Lanes keys at the same time. If fn fails for a record, fn is called for no later record of
// its key before that record is tried again. The relay's policies decide how often it is tried,
// and Block makes it a queue per key that skips nothing. For records without a key fn is called
// one at a time, unless FuncConfig.KeylessConcurrent is set, but one that fails does not hold up
// the later ones.
//
// An effect is carried out at least once: after a crash fn can be called again for a
// record. IdempotencyKey lets the other side recognise it.
//
// If the other side is unavailable, fn should return the error of outbox.Failed with
// outbox.FailureOutage: it costs the record no attempt. If the other side refuses this record for
// good, return outbox.FailurePermanent. Any other error is of an unknown kind, and so is a panic.
//
// fn must return soon after its context has ended. That is Config.PublishTimeout
// after the relay has called Send. In the last third of that time no call
// begins, so that only a call that takes longer than a third is cut short. fn
// must not change the record, nor keep its payload and headers.
//
// Func returns an error that wraps outbox.ErrInvalidConfig if an argument is invalid.
func Func(fn func(ctx context.Context, r outbox.Record) error, cfg FuncConfig) (driver.Sink, error) {
	if fn == nil {
		return nil, outbox.ConfigError("fn", nil, "must not be nil")
	}
	cfg.Lanes = cmp.Or(cfg.Lanes, defaultLanes)
	if cfg.Lanes < 1 || cfg.Lanes > maxLanes {
		return nil, outbox.ConfigError("Lanes", cfg.Lanes, "must be 1 to 1024")
	}
	return &funcSink{fn: fn, cfg: cfg, seed: maphash.MakeSeed()}, nil
}

type idempotencyKey struct{}

// IdempotencyKey returns the id of the record that the function of Func was
// called for, from the context of that call. It is the same in each repeat, and
// different for every other record. Send it along, for example as header Idempotency-Key,
// so that the other side carries each effect out once. It returns "" for other contexts.
func IdempotencyKey(ctx context.Context) string {
	key, _ := ctx.Value(idempotencyKey{}).(string)
	return key
}

// Send implements driver.Sink.
func (s *funcSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
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

// spread returns the places of the records of each lane.
func (s *funcSink) spread(records []outbox.Record) [][]int32 {
	lanes := make([][]int32, s.cfg.Lanes)
	for i := range records {
		r := &records[i]
		at := uint64(r.Seq) //nolint:gosec // any number works
		if r.Key != "" || !s.cfg.KeylessConcurrent {
			at = maphash.Comparable(s.seed, driver.Key{Topic: r.Topic, Key: r.Key})
		}
		at %= uint64(len(lanes))
		lanes[at] = append(lanes[at], int32(i))
	}
	return lanes
}

// lane calls the function for the records at places, in order. It stops a key at its first
// failure and a topic at an outage. After late it begins no call except the first.
func (s *funcSink) lane(ctx context.Context, late time.Time, records []outbox.Record, places []int32, results []outbox.Result) {
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
		results[i] = outbox.Result{Err: err}
		if d, ok := err.(*outbox.DeliveryError); !ok || d.Kind != kind { //nolint:errorlint // a wrapped one has its own text
			results[i] = outbox.Failed(kind, err)
		}
		keys[keyOf(r)] = struct{}{}
		if kind == outbox.FailureOutage {
			topics[r.Topic] = struct{}{}
		}
	}
}

// call calls the function once.
func (s *funcSink) call(ctx context.Context, r *outbox.Record) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := failpoint.Inject(ctx, failpoint.RelayMidBatch); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("leat: the function of a sink has panicked: %v", p)
		}
	}()
	return s.fn(context.WithValue(ctx, idempotencyKey{}, r.ID), *r)
}
