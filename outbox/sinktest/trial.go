package sinktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// trial is a Subject under one check, with everything that was offered to its sinks.
type trial struct {
	Subject

	features Features

	mu      sync.Mutex
	seq     int64
	offered []*offer // in order of the first call of Send
	byName  map[name]*offer
	lastOf  map[driver.Key]*offer
	sinks   []driver.Sink
}

// offer is a record that was passed to a sink.
type offer struct {
	record  outbox.Record
	acked   bool
	skipped bool // the check has gone on without it

	before, behind *offer // place in its key
}

// name identifies a message: one id may be used on two topics.
type name struct{ topic, id string }

func nameOf(m *outbox.Message) name { return name{m.Topic, m.ID} }

func newTrial(f Features, s Subject) *trial {
	return &trial{Subject: s, features: f, byName: make(map[name]*offer), lastOf: make(map[driver.Key]*offer)}
}

// sink returns a sink that is closed after the check.
func (tr *trial) sink() driver.Sink {
	s, err := tr.Sink()
	fail.If(err, "make a sink")
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.sinks = append(tr.sinks, s)
	return s
}

// end closes the sinks.
func (tr *trial) end() error {
	var errs []error
	for _, s := range tr.sinks {
		if c, ok := s.(interface{ Close() error }); ok {
			errs = append(errs, closeSoon(c))
		}
	}
	return errors.Join(errs...)
}

// closeSoon closes c, which must not take long.
func closeSoon(c interface{ Close() error }) error {
	done := make(chan error, 1)
	go func() { done <- c.Close() }()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return fmt.Errorf("close has not returned after %s", patience)
	}
}

// offer records that records were offered. Those that were offered before keep their place.
func (tr *trial) offer(records []outbox.Record) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for i := range records {
		if _, again := tr.byName[nameOf(&records[i].Message)]; again {
			continue
		}
		key := driver.Key{Topic: records[i].Topic, Key: records[i].Key}
		o := &offer{record: clone(&records[i]), before: tr.lastOf[key]}
		if o.before != nil {
			o.before.behind = o
		}
		tr.offered, tr.byName[nameOf(&o.record.Message)], tr.lastOf[key] = append(tr.offered, o), o, o
	}
}

// settle records what was acknowledged.
func (tr *trial) settle(records []outbox.Record, results []outbox.Result) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for i := range records {
		if results[i].Err == nil {
			tr.byName[nameOf(&records[i].Message)].acked = true
		}
	}
}

// goOnWithout records that later records of the key may arrive without r.
func (tr *trial) goOnWithout(r *outbox.Record) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.byName[nameOf(&r.Message)].skipped = true
}

// send calls Send on copies of records, for at most d, and judges what it does. The copies are
// overwritten afterwards, as the memory of a page is.
func (tr *trial) send(ctx context.Context, s driver.Sink, d time.Duration, records []outbox.Record) []outbox.Result {
	tr.offer(records)
	given := make([]outbox.Record, len(records))
	for i := range records {
		given[i] = clone(&records[i])
	}
	sending, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	done := make(chan []outbox.Result, 1)
	go func() { done <- s.Send(sending, given) }()
	var results []outbox.Result
	select {
	case results = <-done:
	case <-after(sending, grace):
		fail.With("send has not returned %s after the end of its context", grace)
	}
	for i := range given {
		fail.If(same(&records[i].Message, &given[i].Message, Features{}), fmt.Sprintf("send has changed record %d", i))
		scribble(&given[i])
	}
	fail.If(judge(records, results))
	tr.settle(records, results)
	return results
}

// after returns a channel that is closed d after the end of ctx.
func after(ctx context.Context, d time.Duration) <-chan struct{} {
	done := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(done) }) })
	return done
}

// deliver sends records and expects that all are acknowledged.
func (tr *trial) deliver(ctx context.Context, s driver.Sink, records []outbox.Record) {
	results := tr.send(ctx, s, patience, records)
	for i := range results {
		if results[i].Err != nil {
			fail.With("record %d of %d was not delivered: %w", i, len(results), results[i].Err)
		}
	}
}
