package outboxtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func relayFaultChecks() []Check {
	return []Check{
		{Name: "Relay_O2_FaultsLoseNothing", run: faultsLoseNothing},
		{Name: "Relay_O5_NothingPassesAFailedRecord", run: nothingPassesAFailedRecord},
		{Name: "Relay_O12_PositionStopsAtTheFailure", run: positionStopsAtTheFailure},
		{Name: "Relay_O2_KilledRelayLosesNothing", run: killedRelayLosesNothing},
		{Name: "Relay_O12_KilledBetweenAckAndAdvance", run: killedBetweenAckAndAdvance},
	}
}

// faultsLoseNothing relays while a storm writes and the sink fails in every possible way. Only
// lost acknowledgements cause additional copies.
func faultsLoseNothing(ctx context.Context, tr *trial) {
	stalled := make(chan struct{})
	close(stalled)
	faults := []fault{
		{After: 2},
		{After: 0, Kind: outbox.FailureOutage},
		pass(),
		{After: 1, AckLost: true},
		{After: 0, AckLost: true, Kind: outbox.FailureOutage},
		{After: 0, AckLost: true, Stall: stalled},
		{After: 3, Kind: outbox.FailurePermanent},
	}
	lostAcks := 3
	broker := NewBroker()
	run := tr.start(ctx, tr.Source(testGroup), broker.scripted(faults...), blocking())
	writers := newStorm(tr)
	<-writers.start(ctx, 3)
	fail.If(writers.err())
	want := writers.names()
	broker.awaitSet(ctx, want)
	run.stop()
	fail.In("after a clean stop", func() { tr.expectOnce(ctx, broker.Sink(), 0) })
	log := broker.Log()
	if most := len(want) + lostAcks*smallPages().PageSize; len(log) > most {
		fail.With("broker has %d records, want at most %d: %d and those whose acknowledgement was lost",
			len(log), most, len(want))
	}
	tr.verify(distinct(log), want)
}

// nothingPassesAFailedRecord fails the same record many times.
func nothingPassesAFailedRecord(ctx context.Context, tr *trial) {
	want := numbered("m", 12)
	tr.commit(ctx, keyed("k", want...)...)
	broker := NewBroker()
	sink := broker.scripted(fault{After: 2}, fault{}, fault{Kind: outbox.FailurePermanent}, fault{}, fault{After: 1})
	tr.expectOnce(ctx, sink, len(want))
	expect(broker.Log(), want...)
}

// positionStopsAtTheFailure stops a relay whose only destination is out. The
// next one starts with the record that was refused.
func positionStopsAtTheFailure(ctx context.Context, tr *trial) {
	want := numbered("m", 12)
	tr.commit(ctx, named(want...)...)
	broker := NewBroker()
	sink := broker.scripted(pass(), fault{After: 2, Kind: outbox.FailureOutage})
	refusing := make([]fault, 10_000)
	for i := range refusing {
		refusing[i].Kind = outbox.FailureOutage
	}
	sink.Script(refusing...)
	run := tr.start(ctx, tr.Source(testGroup), sink, smallPages())
	fail.If(sink.AwaitCalls(ctx, 5))
	run.stop()
	fail.In("after 7 of 12 were acknowledged", func() { tr.expectOnce(ctx, broker.Sink(), 5) })
	expect(broker.Log(), want...)
}

// killedRelayLosesNothing runs two relays, cuts off the leading one in the middle of a page while
// a storm writes, and expects the other to take over.
func killedRelayLosesNothing(ctx context.Context, tr *trial) {
	broker := NewBroker()
	// The third page of the first relay is delivered in part; its answer never
	// comes.
	victim := &severable{Source: tr.Source(testGroup)}
	dying := broker.scripted(pass(), pass(), fault{After: 2, Stall: make(chan struct{})})
	first := tr.start(ctx, victim, dying, shortLease())
	tr.commit(ctx, keyed("seed", numbered("seed", 20)...)...)
	fail.If(dying.AwaitCalls(ctx, 3))
	second := tr.start(ctx, tr.Source(testGroup), broker.Sink(), shortLease())
	writers := newStorm(tr)
	done := writers.start(ctx, 4)
	victim.sever()
	first.cancel()
	<-first.done // any error will do: a killed process returns none
	<-done
	fail.If(writers.err())
	want := append(writers.names(), numbered("seed", 20)...)
	broker.awaitSet(ctx, want)
	second.stop()
	tr.expectOnce(ctx, broker.Sink(), 0)
	tr.verify(distinct(broker.Log()), want)
}

// killedBetweenAckAndAdvance repeats the page that was acknowledged and not
// settled, and nothing before it.
func killedBetweenAckAndAdvance(ctx context.Context, tr *trial) {
	want := numbered("m", 15)
	tr.commit(ctx, keyed("k", want...)...)
	broker := NewBroker()
	victim := &severable{Source: tr.Source(testGroup)}
	acks := make(chan struct{})
	run := tr.start(ctx, victim, broker.scripted(pass(), fault{After: everything, Stall: acks}), shortLease())
	broker.await(ctx, 10)
	fail.If(wait.For(ctx, 10*time.Millisecond)) // so that it has read ahead
	victim.sever()
	close(acks)
	run.cancel()
	<-run.done // any error will do: a killed process returns none
	next := tr.start(ctx, tr.Source(testGroup), broker.Sink(), shortLease())
	broker.await(ctx, len(want), "after the kill")
	next.stop()
	log := broker.Log()
	expect(distinct(log), want...)
	if most := len(want) + 2*smallPages().PageSize; len(log) > most {
		fail.With("broker has %d records, want at most %d: two pages were not stored as settled", len(log), most)
	}
}

func relayExactlyOnceChecks() []Check {
	return unless(
		noPositions,
		Check{Name: "Relay_O10_ExactlyOnceThroughLostAnswers", run: exactlyOnceThroughLostAnswers},
		Check{Name: "Relay_O10_ExactlyOnceThroughAKill", run: exactlyOnceThroughAKill},
	)
}

// exactlyOnceThroughLostAnswers loses the answer to every third commit, and fails every fifth
// transaction, while a storm writes.
func exactlyOnceThroughLostAnswers(ctx context.Context, tr *trial) {
	broker := newExactBroker()
	src := tr.group(GroupConfig{Positions: true})
	run := tr.start(ctx, src, broker.answers(func(call int) (commit bool, err error) {
		switch {
		case call%3 == 0:
			return true, errInjected
		case call%5 == 0:
			return false, errInjected
		default:
			return true, nil
		}
	}), smallPages())
	writers := newStorm(tr)
	<-writers.start(ctx, 7)
	fail.If(writers.err())
	want := writers.names()
	broker.awaitSet(ctx, want)
	run.stop()
	tr.verify(broker.Log(), want)
}

// exactlyOnceThroughAKill kills a relay between the commit of a transaction and its answer, and
// starts the next one.
func exactlyOnceThroughAKill(ctx context.Context, tr *trial) {
	want := numbered("m", 23)
	for i := 0; i < len(want); i += 4 {
		tr.commit(ctx, keyed("k", want[i:min(i+4, len(want))]...)...)
	}
	src := tr.group(GroupConfig{Positions: true})
	broker := newExactBroker()
	victim := &severable{Source: src}
	killed := make(chan struct{})
	first := tr.start(ctx, victim, broker.answers(func(call int) (bool, error) {
		if call == 3 {
			victim.sever()
			close(killed)
			return true, errInjected
		}
		return true, nil
	}), shortLease())
	select {
	case <-killed:
	case <-first.done:
		fail.With("run: %w", first.err)
	case <-ctx.Done():
		fail.With("the third transaction did not come: %w", ctx.Err())
	}
	first.cancel()
	<-first.done // any error will do: a killed process returns none
	src = tr.group(GroupConfig{Positions: true})
	second := tr.start(ctx, src, broker.answers(alwaysCommits), shortLease())
	broker.await(ctx, len(want), "after the kill")
	second.stop()
	expect(broker.Log(), want...)
}

// errSevered is the error of a severed source.
var errSevered = errors.New("leat: connection is cut")

// severable is a Source that can be cut off from its database, like a process that was killed:
// what its sessions have in memory is never stored, and their lease is not released but expires.
type severable struct {
	driver.Source

	cut atomic.Bool
}

func (s *severable) sever() {
	s.cut.Store(true)
}

// Acquire implements driver.Source.
func (s *severable) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	if s.cut.Load() {
		return nil, errSevered
	}
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	severed := &severedSession{Session: session, cut: &s.cut}
	if p, ok := session.(driver.Positioned); ok {
		return &severedPositioned{severedSession: severed, positioned: p}, nil
	}
	return severed, nil
}

type severedSession struct {
	driver.Session

	cut *atomic.Bool
}

// Read implements driver.Session.
func (s *severedSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	if s.cut.Load() {
		return driver.Page{}, errSevered
	}
	return s.Session.Read(ctx, limit)
}

// Advance implements driver.Session.
func (s *severedSession) Advance(ctx context.Context, p driver.Page, n int) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Advance(ctx, p, n)
}

// Renew implements driver.Session.
func (s *severedSession) Renew(ctx context.Context, ttl time.Duration) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Renew(ctx, ttl)
}

// Release implements driver.Session.
func (s *severedSession) Release(ctx context.Context) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.Session.Release(ctx)
}

// severedPositioned is a severedSession whose position a sink can store.
type severedPositioned struct {
	*severedSession

	positioned driver.Positioned
}

// SlotName implements driver.Positioned.
func (s *severedPositioned) SlotName() string {
	return s.positioned.SlotName()
}

// Position implements driver.Positioned.
func (s *severedPositioned) Position(p driver.Page, n int) ([]byte, error) {
	return s.positioned.Position(p, n)
}

// Seek implements driver.Positioned.
func (s *severedPositioned) Seek(ctx context.Context, position []byte) error {
	if s.cut.Load() {
		return errSevered
	}
	return s.positioned.Seek(ctx, position)
}

var (
	_ driver.TransactionalSink = (*exactSink)(nil)

	errFenced = errors.New("leat: another sink has fenced this one")
)

// exactBroker is a Broker that stores the position of each slot together with the delivered
// records.
type exactBroker struct {
	*Broker

	mu        sync.Mutex
	positions map[string][]byte
	holders   map[string]*exactSink // the sink that fenced the slot last
}

func newExactBroker() *exactBroker {
	return &exactBroker{Broker: NewBroker(), positions: make(map[string][]byte), holders: make(map[string]*exactSink)}
}

// exactSink delivers to an exactBroker in transactions. For each call that delivers records,
// counted from 1, answer returns whether the transaction commits and the error of the call.
type exactSink struct {
	broker *exactBroker
	answer func(call int) (commit bool, err error)
	calls  int // guarded by broker.mu
}

// answers returns a sink that commits everything, unless answer decides otherwise.
func (b *exactBroker) answers(answer func(call int) (commit bool, err error)) *exactSink {
	return &exactSink{broker: b, answer: answer}
}

func alwaysCommits(int) (commit bool, err error) { return true, nil }

// Send implements driver.Sink. A relay calls SendWith instead.
func (s *exactSink) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	for i := range results {
		results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("leat: sent without a position"))
	}
	return results
}

// Fence implements driver.TransactionalSink.
func (s *exactSink) Fence(_ context.Context, slot string) ([]byte, error) {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.broker.holders[slot] = s
	return slices.Clone(s.broker.positions[slot]), nil
}

// SendWith implements driver.TransactionalSink.
func (s *exactSink) SendWith(_ context.Context, slot string, records []outbox.Record, position []byte) error {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	if s.broker.holders[slot] != s {
		return errFenced
	}
	commit, err := true, error(nil)
	if len(records) > 0 {
		s.calls++
		commit, err = s.answer(s.calls)
	}
	if commit {
		s.broker.deliver(records)
		s.broker.positions[slot] = slices.Clone(position)
	}
	if err != nil {
		delete(s.broker.holders, slot)
	}
	return err
}
