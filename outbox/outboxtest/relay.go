package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

func relayFlowChecks() []Check {
	return []Check{
		{Name: "Relay_O3_NothingSentBeforeCommit", run: nothingSentBeforeCommit, skip: oneWriter},
		{Name: "Relay_O4_BrokerGetsWhatWasEnqueued", run: brokerGetsWhatWasEnqueued},
		{Name: "Relay_O10_FaultFreeRunSendsOnce", run: faultFreeRunSendsOnce},
		{Name: "Relay_O11_OpenTransactionDelaysNothing", run: relayIsNotDelayed, skip: oneWriter},
		{
			Name: "Relay_WakeReplacesPolling", run: wakeReplacesPolling,
			skip: func(f Features) bool { return f.NoWakes },
		},
	}
}

func nothingSentBeforeCommit(ctx context.Context, tr *trial) {
	broker := NewBroker()
	sink := broker.Sink()
	tx := tr.open(ctx, named("a", "b")...)
	fail.In("while the transaction is open", func() { tr.expectOnce(ctx, sink, 0) })
	fail.If(tr.finish(ctx, false, named("rolled back")...))
	fail.If(tx.Commit(ctx))
	tr.expectOnce(ctx, sink, 2)
	fail.In("after everything was sent", func() { tr.expectOnce(ctx, sink, 0) })
	expect(broker.Log(), "a", "b")
}

// brokerGetsWhatWasEnqueued loses the acknowledgements of one call, so that the
// broker has two copies of some records.
func brokerGetsWhatWasEnqueued(ctx context.Context, tr *trial) {
	want := tricky()
	tr.commit(ctx, want...)
	broker := NewBroker()
	tr.expectOnce(ctx, broker.scripted(pass(), fault{After: 2, AckLost: true}), len(want))
	first := make(map[int64]outbox.Record)
	var distinct []outbox.Record
	log := broker.Log()
	for i := range log {
		copy1, repeated := first[log[i].Seq]
		if !repeated {
			first[log[i].Seq] = log[i]
			distinct = append(distinct, log[i])
			continue
		}
		fail.If(sameRecord(&copy1, &log[i]), fmt.Sprintf("message %q: copies differ", copy1.ID))
	}
	if len(log) != len(want)+3 {
		fail.With("broker has %d records, want %d and 3 repeats", len(log), len(want))
	}
	sameAsEnqueued(distinct, want)
}

// faultFreeRunSendsOnce relays while a storm writes and a transaction that drew
// its numbers first stays open until the storm is over.
func faultFreeRunSendsOnce(ctx context.Context, tr *trial) {
	commitLate := tr.openLate(ctx, named(numbered("late", 3)...)...)
	broker := NewBroker()
	run := tr.start(ctx, tr.Source(testGroup), broker.Sink(), smallPages())
	writers := newStorm(tr)
	<-writers.start(ctx, 2)
	fail.If(writers.err())
	want := writers.names()
	broker.awaitSet(ctx, want)
	commitLate(ctx)
	want = append(want, numbered("late", 3)...)
	broker.awaitSet(ctx, want)
	run.stop()
	fail.In("after a clean stop", func() { tr.expectOnce(ctx, broker.Sink(), 0) })
	tr.verify(broker.Log(), want)
}

// verify expects each of want exactly once, in key order.
func (tr *trial) verify(log []outbox.Record, want []string) {
	expectSet(log, want)
	if tr.features.NoKeyOrder {
		return
	}
	expectOrder(log)
}

// distinct returns the first occurrence of each record.
func distinct(log []outbox.Record) []outbox.Record {
	var out []outbox.Record
	seen := make(map[int64]bool, len(log))
	for i := range log {
		if !seen[log[i].Seq] {
			seen[log[i].Seq] = true
			out = append(out, log[i])
		}
	}
	return slices.Clip(out)
}

func relayIsNotDelayed(ctx context.Context, tr *trial) {
	held := tr.open(ctx, keyed("held", "late")...)
	broker := NewBroker()
	for round := range 3 {
		tr.commit(ctx, named(numbered(fmt.Sprintf("round%d", round), 7)...)...)
		fail.In("while a transaction is open", func() { tr.expectOnce(ctx, broker.Sink(), 7) })
	}
	fail.If(held.Commit(ctx))
	tr.expectOnce(ctx, broker.Sink(), 1)
}

// wakeReplacesPolling polls once an hour, and commits only when the relay has begun to wait for
// the next poll.
func wakeReplacesPolling(ctx context.Context, tr *trial) {
	cfg := smallPages()
	cfg.PollMin, cfg.PollMax = time.Hour, time.Hour
	broker := NewBroker()
	src := newIdleSource(tr.Source(testGroup))
	run := tr.start(ctx, src, broker.Sink(), cfg)
	for i := range 5 {
		fail.If(src.await(ctx), "the relay did not come to rest")
		tr.commit(ctx, named(fmt.Sprintf("m-%d", i+1))...)
		tr.Wake()
		broker.await(ctx, i+1, fmt.Sprintf("message %d was not sent upon a wake", i+1))
	}
	run.stop()
	expect(broker.Log(), numbered("m", 5)...)
}

func relaySlotChecks() []Check {
	return unless(
		func(f Features) bool { return f.NoSlots },
		Check{Name: "Relay_O5_RelaysShareSlots", run: relaysShareSlots(3)},
		Check{
			Name: "Relay_O5_RelaysChangeSlots", run: relaysShareSlots(3, 4, 1),
			skip: func(f Features) bool { return f.FixedSlots },
		},
	)
}

// relaysShareSlots runs two relays as users do: they share the slots, change the number of slots
// when they are replaced one after the other, and leave nothing behind. Nothing fails, so each
// record is sent once.
func relaysShareSlots(counts ...int) func(context.Context, *trial) {
	return func(ctx context.Context, tr *trial) {
		const keys = 11
		broker := NewBroker()
		written := make(map[int]int)
		var want []string
		write := func() {
			for k := range keys {
				written[k]++
				name := fmt.Sprintf("key%d-%d", k, written[k])
				tr.commit(ctx, keyed(fmt.Sprintf("key%d", k), name)...)
				want = append(want, name)
			}
			tr.Wake()
		}
		runs := make([]*running, 2)
		for _, slots := range counts {
			for i := range runs {
				tr.replace(ctx, runs, i, slots, broker)
				write()
			}
			fail.In(fmt.Sprintf("%d slots", slots), func() {
				awaitSlots(ctx, runs, slots)
				write()
				broker.awaitSet(ctx, want)
			})
		}
		for _, run := range runs {
			run.stop()
		}
		fail.In("after both have stopped", func() { tr.expectGroup(ctx, GroupConfig{Slots: counts[len(counts)-1]}) })
		log := broker.Log()
		expectSet(log, want)
		tr.expectNumbered(log)
	}
}

// replace stops relay i, if it runs, and starts another one that is configured with the
// given number of slots.
func (tr *trial) replace(ctx context.Context, runs []*running, i, slots int, broker *Broker) {
	if runs[i] != nil {
		runs[i].stop()
	}
	runs[i] = tr.start(ctx, tr.group(GroupConfig{Slots: slots}), broker.Sink(), shortLease())
}

// awaitSlots waits until the relays lead all slots, and no relay leads more than its share.
func awaitSlots(ctx context.Context, runs []*running, slots int) {
	fair := (slots + len(runs) - 1) / len(runs)
	for {
		var led []int
		total, most := 0, 0
		for _, run := range runs {
			n := len(run.relay.State().Slots)
			led = append(led, n)
			total, most = total+n, max(most, n)
		}
		if total == slots && most <= fair {
			return
		}
		fail.If(pause(ctx), fmt.Sprintf("the relays lead %v of %d slots", led, slots))
	}
}

// smallPages returns a configuration with which a few records take many pages, and retries are quick.
func smallPages() relay.Config {
	return relay.Config{PageSize: 5, BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond}
}

// blocking returns smallPages with a policy that never gives up a record.
func blocking() relay.Config {
	cfg := smallPages()
	cfg.Policies = []relay.Policy{{Action: relay.Block}}
	return cfg
}

// shortLease returns smallPages with a lease so short that a test can wait until it expires.
func shortLease() relay.Config {
	cfg := smallPages()
	cfg.Lease = 2 * time.Second
	cfg.PublishTimeout = 500 * time.Millisecond
	cfg.LeaseMargin = 500 * time.Millisecond
	return cfg
}

// running is a Relay whose Run is in progress.
type running struct {
	relay  *relay.Relay
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// start starts a relay, which is stopped at the end of the check at the latest.
func (tr *trial) start(ctx context.Context, source driver.Source, sink driver.Sink, cfg relay.Config) *running {
	r, err := relay.New(source, sink, cfg)
	fail.If(err)
	ctx, cancel := context.WithCancel(ctx)
	run := &running{relay: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(run.done)
		run.err = r.Run(ctx)
	}()
	tr.cleanup(func() {
		cancel()
		<-run.done
	})
	return run
}

// stop ends the relay, and expects that it ends cleanly.
func (r *running) stop() {
	r.cancel()
	<-r.done
	fail.If(r.err, "run after a stop")
}

// await waits until n different records were delivered.
func (b *Broker) await(ctx context.Context, n int, where ...string) {
	log, err := b.AwaitDistinct(ctx, n)
	if err != nil {
		fail.If(fmt.Errorf("%w, broker has %s", err, describe(log)), where...)
	}
}

// awaitSet waits until as many different records were delivered as want has. If they do not
// arrive, the error names the missing ones.
func (b *Broker) awaitSet(ctx context.Context, want []string) {
	log, err := b.AwaitDistinct(ctx, len(want))
	if err != nil {
		fail.Now(errors.Join(err, fail.Caught(func() { expectSet(distinct(log), want) })))
	}
}

// once runs a new relay once.
func (tr *trial) once(ctx context.Context, sink driver.Sink, cfg relay.Config) (int, error) {
	r, err := relay.New(tr.Source(testGroup), sink, cfg)
	if err != nil {
		return 0, err
	}
	return r.RunOnce(ctx)
}

// expectOnce runs a new relay once and expects n records to be acknowledged. It
// gives no record up.
func (tr *trial) expectOnce(ctx context.Context, sink driver.Sink, n int) {
	got, err := tr.once(ctx, sink, blocking())
	fail.If(err, "run once")
	if got != n {
		fail.With("run once: %d records acknowledged, want %d", got, n)
	}
}
