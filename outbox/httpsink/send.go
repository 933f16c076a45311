package httpsink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// errNoTurn is the failure of an endpoint if no request to it could begin in time.
var errNoTurn = errors.New("leat: no request could begin in time: the bounds on rate or concurrency are too low")

// Send implements driver.Sink. No request begins in the last third of the time that ctx leaves,
// so that only a request that takes longer than that is cut short.
//
// A record that fails holds back the later records of its topic and key; if its failure
// is an outage, all later records of its topic. A request that was cut short by the end of
// ctx may have arrived; its record counts as failed by an outage and is sent again, before
// any later record of its key.
func (s *Sink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	places := make(map[string][]int)
	notSent := outbox.NotSent()
	for i := range records {
		results[i] = notSent
		places[records[i].Topic] = append(places[records[i].Topic], i)
	}
	begin, late := ctx, time.Time{} // begin ends when requests may no longer begin
	if deadline, ok := ctx.Deadline(); ok {
		late = deadline.Add(-time.Until(deadline) / 3)
		var cancel context.CancelFunc
		begin, cancel = context.WithDeadline(ctx, late)
		defer cancel()
	}
	var topics sync.WaitGroup
	for topic, places := range places {
		topics.Go(func() {
			d := &delivery{sink: s, records: records, results: results, late: late}
			d.run(ctx, begin, topic, places)
		})
	}
	topics.Wait()
	return results
}

// delivery is the part of one call of Send that concerns one endpoint.
type delivery struct {
	sink    *Sink
	records []outbox.Record
	results []outbox.Result
	late    time.Time

	endpoint *endpoint
	target   *target
	out      atomic.Bool // nothing more may be sent
	told     atomic.Bool // a record has a result other than "not sent"
}

// run sends the records at places, in lanes.
func (d *delivery) run(ctx, begin context.Context, topic string, places []int) {
	var err error
	if d.endpoint, d.target, err = d.sink.find(ctx, topic); err != nil {
		d.results[places[0]] = outbox.Failed(outbox.FailureOutage, err)
		return
	}
	if err := d.endpoint.off(d.target); err != nil {
		for _, i := range places {
			d.results[i] = outbox.Failed(outbox.FailurePermanent, err)
		}
		return
	}
	lanes := lanesOf(d.records, places)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(len(lanes), d.target.Concurrency) {
		workers.Go(func() {
			for i := next.Add(1); i <= int64(len(lanes)); i = next.Add(1) {
				d.lane(ctx, begin, lanes[i-1])
			}
		})
	}
	workers.Wait()
	if !d.told.Load() {
		d.results[places[0]] = outbox.Failed(outbox.FailureOutage, errors.Join(errNoTurn, context.Cause(ctx)))
	}
}

// lanesOf divides places by key. A record without a key has a lane of its own.
func lanesOf(records []outbox.Record, places []int) [][]int {
	var lanes [][]int
	byKey := make(map[string]int)
	for _, i := range places {
		key := records[i].Key
		n, known := byKey[key]
		if key == "" || !known {
			n = len(lanes)
			byKey[key] = n
			lanes = append(lanes, nil)
		}
		lanes[n] = append(lanes[n], i)
	}
	return lanes
}

// lane sends the records at places one after the other, up to the first failure.
func (d *delivery) lane(ctx, begin context.Context, places []int) {
	for _, i := range places {
		if d.out.Load() {
			return
		}
		result := d.inTurn(ctx, begin, &d.records[i])
		d.results[i] = result
		kind := outbox.KindOf(result.Err)
		if result.Err == nil || kind != outbox.FailureNotSent {
			d.told.Store(true)
		}
		if kind == outbox.FailureOutage && result.Err != nil {
			d.out.Store(true)
		}
		if result.Err != nil {
			return
		}
	}
}

// inTurn sends r when it is its turn.
func (d *delivery) inTurn(ctx, begin context.Context, r *outbox.Record) outbox.Result {
	release, err := d.turn(begin)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return outbox.Failed(outbox.FailureOutage, context.Cause(ctx))
	case begin.Err() != nil || errors.Is(err, errNoTurn):
		return outbox.NotSent()
	default:
		return outbox.Failed(outbox.FailureOutage, err)
	}
	defer release()
	if d.out.Load() {
		return outbox.NotSent() // the lane waited for another record's turn, and that record has failed
	}
	if err := d.endpoint.off(d.target); err != nil {
		return outbox.Failed(outbox.FailurePermanent, err)
	}
	return d.sink.attempt(ctx, d.endpoint, d.target, r)
}

// turn waits until a request may begin: the endpoint is not resting, its Concurrency and
// MaxConcurrent are not reached, and its Rate allows it.
func (d *delivery) turn(begin context.Context) (release func(), err error) {
	if err := d.endpoint.resting(); err != nil {
		return nil, err
	}
	d.endpoint.mu.Lock()
	turns := d.endpoint.turns
	d.endpoint.mu.Unlock()
	if err := enter(begin, turns); err != nil {
		return nil, err
	}
	if err := enter(begin, d.sink.slots); err != nil {
		<-turns
		return nil, err
	}
	release = func() { <-d.sink.slots; <-turns }
	at, ok := d.endpoint.reserve(d.target.Rate, d.late)
	if !ok {
		release()
		return nil, fmt.Errorf("endpoint %.200q: %w", d.endpoint.name, errNoTurn)
	}
	if err := wait.For(begin, time.Until(at)); err != nil {
		release()
		return nil, err
	}
	if err := d.endpoint.resting(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// enter takes a place in places, waiting until there is one.
func enter(ctx context.Context, places chan struct{}) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
