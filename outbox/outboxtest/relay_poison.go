package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

func relayPoisonChecks() []Check {
	return unless(
		noHolder,
		Check{Name: "Relay_O6_ParkedKeyWaitsForRedrive", run: parkedKeyWaitsForRedrive},
		Check{Name: "Relay_O6_DeadRecordLetsItsKeyGo", run: deadRecordLetsItsKeyGo},
		Check{Name: "Relay_O6_LeastLosingPolicyCounts", run: leastLosingPolicyCounts},
		Check{Name: "Relay_O7_PoisonDelaysNoOther", run: poisonDelaysNoOther},
		Check{Name: "Relay_O7_OutageDelaysNoOtherTopic", run: outageDelaysNoOtherTopic},
		Check{Name: "Relay_O8_OutageCountsNothing", run: outageCountsNothing},
		Check{Name: "Relay_O9_ZombieParksNothing", run: zombieParksNothing},
		Check{Name: "Relay_O14_RetryAfterClockSetBack", run: retriedAfterClockSetBack},
	)
}

// patient returns smallPages with the policy p, and with a short PollMax, so that the relay soon notices redriven
// records.
func patient(p relay.Policy) relay.Config {
	cfg := smallPages()
	cfg.PollMax = 50 * time.Millisecond
	cfg.Policies = []relay.Policy{p}
	return cfg
}

// awaitAside waits until these records are parked, or dead.
func awaitAside(ctx context.Context, list lister, names ...string) []admin.HeldRecord {
	var last error
	for {
		var all []admin.HeldRecord
		err := fail.Caught(func() { all = expectAside(ctx, "set aside", list, names) })
		switch {
		case err == nil:
			return all
		case ctx.Err() != nil:
			fail.Now(errors.Join(last, ctx.Err()))
		}
		last = err
		_ = wait.For(ctx, 10*time.Millisecond) // the next round sees the error
	}
}

// payloadsOf returns the payloads of a key's records in a broker's log.
func payloadsOf(log []outbox.Record, key string) []string {
	return names(slices.DeleteFunc(slices.Clone(log), func(r outbox.Record) bool { return r.Key != key }))
}

// parkedKeyWaitsForRedrive parks a key, has another relay take over, and expects the key to be
// sent once an operator has redriven it.
func parkedKeyWaitsForRedrive(ctx context.Context, tr *trial) {
	op := tr.operator()
	tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x", "y")...)...)
	broker := NewBroker()
	sink := broker.picky(refuses(outbox.FailureUnknown, "b"))
	run := tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Attempts: 3}))
	parked := awaitAside(ctx, op.parked, "b", "c")
	if got := parked[0]; len(got.Errors) != 3 || got.Attempts != 3 || got.Reason == "" {
		fail.With("parked after 3 attempts: %+v", got)
	}
	run.stop()
	sink.Refuse(takesAll)
	run = tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Attempts: 3}))
	tr.commit(ctx, append(keyed("k", "d"), keyed("l", "z")...)...)
	broker.await(ctx, 4)
	awaitAside(ctx, op.parked, "b", "c", "d")
	if got := payloadsOf(broker.Log(), "k"); !slices.Equal(got, []string{"a"}) {
		fail.With("while the key is parked: broker has %v of it, want [a]", got)
	}
	fail.If(op.redrive(ctx, ofKey(testKey("k"))), "redrive")
	broker.await(ctx, 7, "after a redrive")
	tr.commit(ctx, keyed("k", "e")...)
	broker.await(ctx, 8, "after the key was redriven")
	run.stop()
	tr.verify(broker.Log(), []string{"a", "b", "c", "d", "e", "x", "y", "z"})
}

// deadRecordLetsItsKeyGo gives up one record at once and one after two attempts.
func deadRecordLetsItsKeyGo(ctx context.Context, tr *trial) {
	op := tr.operator()
	tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x", "y", "z")...)...)
	broker := NewBroker()
	sink := broker.picky(func(r *outbox.Record) error {
		return errors.Join(refuses(outbox.FailurePermanent, "a")(r), refuses(outbox.FailureUnknown, "y")(r))
	})
	cfg := patient(relay.Policy{Action: relay.DeadLetter, Attempts: 2})
	n, err := tr.once(ctx, sink, cfg)
	if err != nil || n != 4 {
		fail.With("run once: %d records acknowledged, want 4: %w", n, err)
	}
	awaitAside(ctx, op.Dead, "a", "y")
	expectAside(ctx, "parked", op.parked, nil)
	tr.verify(broker.Log(), []string{"b", "c", "x", "z"})
}

// leastLosingPolicyCounts has a relay lead that skips records, first while another live one parks
// them, and then alone.
func leastLosingPolicyCounts(ctx context.Context, tr *trial) {
	op, broker := tr.operator(), NewBroker()
	poison := refuses(outbox.FailurePermanent, "a", "d")
	skips := patient(relay.Policy{Action: relay.Skip, Attempts: 1})
	leader := tr.start(ctx, tr.Source(testGroup), broker.picky(poison), skips)
	tr.commit(ctx, keyed("k", "first")...)
	broker.await(ctx, 1, "while one relay runs")
	standby := tr.start(ctx, tr.Source(testGroup), broker.picky(poison), patient(relay.Policy{}))
	tr.awaitPolicies(ctx, 2)
	tr.commit(ctx, append(keyed("k", "a", "b"), keyed("l", "c")...)...)
	broker.await(ctx, 2, "while relays differ")
	if parked := awaitAside(ctx, op.parked, "a", "b"); !strings.Contains(parked[0].Reason, "skip") {
		fail.With("parked for %q, want the policy of the relay that leads in it", parked[0].Reason)
	}
	standby.stop()
	tr.awaitPolicies(ctx, 1)
	tr.commit(ctx, keyed("m", "d", "e")...)
	broker.await(ctx, 3, "once the relay that skips is alone")
	leader.stop()
	if skipped, err := op.skipped(ctx); err != nil || len(skipped) != 1 {
		fail.With("skipped: %v, want one record: %w", skipped, errors.Join(err, errWrongAnswer))
	}
	tr.verify(broker.Log(), []string{"first", "c", "e"})
}

// awaitPolicies waits until n different policies of live relays are stored.
func (tr *trial) awaitPolicies(ctx context.Context, n int) {
	for {
		groups, err := tr.operator().Groups(ctx)
		if ctx.Err() != nil {
			fail.With("groups %+v, want %d policies: %w", groups, n, ctx.Err())
		}
		fail.If(err, "groups")
		if len(groups) == 1 && len(groups[0].Policies) == n {
			return
		}
		_ = wait.For(ctx, time.Millisecond) // the next round sees the error
	}
}

// poisonDelaysNoOther refuses one key for ever while others are written.
func poisonDelaysNoOther(ctx context.Context, tr *trial) {
	tr.commit(ctx, append(keyed("k", "a", "b"), named("u", "v")...)...)
	broker := NewBroker()
	sink := broker.picky(refuses(outbox.FailureUnknown, "a", "u"))
	run := tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Action: relay.Block}))
	want := []string{"v"}
	for i := range 10 {
		batch := numbered(fmt.Sprintf("m%d", i), 4)
		tr.commit(ctx, append(keyed(fmt.Sprintf("l%d", i%3), batch...), keyed("k", fmt.Sprintf("k%d", i))...)...)
		want = append(want, batch...)
		broker.await(ctx, len(want), "behind a key that is refused")
	}
	expectSet(broker.Log(), want)
	sink.Refuse(takesAll)
	want = append(want, "a", "b", "u")
	for i := range 10 {
		want = append(want, fmt.Sprintf("k%d", i))
	}
	broker.await(ctx, len(want), "after it is not refused any more")
	run.stop()
	tr.verify(broker.Log(), want)
}

// inTopic returns the messages of keyed, in another topic.
func inTopic(topic, key string, names ...string) []outbox.Message {
	msgs := keyed(key, names...)
	for i := range msgs {
		msgs[i].Topic = topic
	}
	return msgs
}

// outageDelaysNoOtherTopic writes to two topics. One of them is out, and has whole pages to
// itself.
func outageDelaysNoOtherTopic(ctx context.Context, tr *trial) {
	broker := NewBroker()
	sink := broker.picky(away("out"))
	cfg := patient(relay.Policy{Attempts: 1})
	run := tr.start(ctx, tr.Source(testGroup), sink, cfg)
	var up, out []string
	for i := range 5 {
		good, bad := numbered(fmt.Sprintf("up%d", i), 3), numbered(fmt.Sprintf("out%d", i), 12)
		tr.commit(ctx, append(inTopic("out", fmt.Sprintf("k%d", i%2), bad...), keyed("k0", good...)...)...)
		up, out = append(up, good...), append(out, bad...)
		broker.await(ctx, len(up), "while another topic is out")
	}
	expectSet(broker.Log(), up)
	sink.Refuse(takesAll)
	broker.await(ctx, len(up)+len(out), "after the topic is back")
	run.stop()
	tr.nothingAside(ctx)
	tr.verify(broker.Log(), append(up, out...))
}

// retriedAfterClockSetBack sets the clock back while a record waits to be tried again. It is
// still sent soon.
func retriedAfterClockSetBack(ctx context.Context, tr *trial) {
	setter, ok := tr.Subject.(ClockSetter)
	if !ok {
		return
	}
	op, broker := tr.operator(), NewBroker()
	sink := broker.picky(refuses(outbox.FailureUnknown, "a"))
	cfg := patient(relay.Policy{Action: relay.Block})
	cfg.BackoffMin, cfg.BackoffMax = time.Second, time.Second // so that the record is waiting when the clock is set
	run := tr.start(ctx, tr.Source(testGroup), sink, cfg)
	tr.commit(ctx, keyed("k", "a", "b")...)
	for retrying := 0; retrying == 0; {
		stats, err := op.Stats(ctx)
		fail.If(err, "stats")
		for i := range stats.Groups {
			retrying += stats.Groups[i].Retrying
		}
		_ = wait.For(ctx, time.Millisecond) // the next round sees the error
	}
	fail.If(setter.SetClockBack(ctx, time.Hour), "set the clock back")
	sink.Refuse(takesAll)
	broker.await(ctx, 2, "after the clock was set back")
	run.stop()
	tr.verify(broker.Log(), []string{"a", "b"})
}

// nothingAside expects that nothing was parked or given up.
func (tr *trial) nothingAside(ctx context.Context) {
	op := tr.operator()
	expectAside(ctx, "parked", op.parked, nil)
	expectAside(ctx, "dead", op.Dead, nil)
	skipped, err := op.skipped(ctx)
	fail.If(err)
	if len(skipped) > 0 {
		fail.With("skipped: %v", skipped)
	}
}

// outageCountsNothing keeps everything out for many calls, under a policy that parks a record at
// its first failed attempt.
func outageCountsNothing(ctx context.Context, tr *trial) {
	want := numbered("m", 23)
	msgs := append(keyed("k", want[:10]...), named(want[10:]...)...)
	for i := range msgs {
		msgs[i].Topic = fmt.Sprintf("topic-%d", i%3)
	}
	tr.commit(ctx, msgs...)
	broker := NewBroker()
	sink := broker.picky(away(""))
	run := tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Attempts: 1}))
	for sink.Calls() < 30 {
		fail.If(wait.For(ctx, time.Millisecond))
	}
	fail.In("while everything is out", func() { tr.nothingAside(ctx) })
	sink.Refuse(takesAll)
	broker.await(ctx, len(want), "after everything is back")
	run.stop()
	tr.nothingAside(ctx)
	tr.verify(broker.Log(), want)
}

// deafSource is a source whose sessions believe that they have renewed their lease.
type deafSource struct {
	driver.Source
}

type deafSession struct {
	driver.Holder
}

// Renew implements driver.Session.
func (deafSession) Renew(context.Context, time.Duration) error { return nil }

// Acquire implements driver.Source.
func (s deafSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := s.Source.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	h, ok := session.(driver.Holder)
	if !ok {
		return nil, errNoHolder
	}
	return deafSession{h}, nil
}

// zombieParksNothing: a relay that has lost its lease without noticing learns that a record can
// never be delivered, after another one has delivered it.
func zombieParksNothing(ctx context.Context, tr *trial) {
	tr.commit(ctx, keyed("k", "a", "b")...)
	broker := NewBroker()
	sending, answer := make(chan struct{}, 1), make(chan struct{})
	late := broker.picky(func(*outbox.Record) error {
		select {
		case sending <- struct{}{}:
		default:
		}
		<-answer
		return outbox.Failed(outbox.FailurePermanent, errInjected).Err
	})
	cfg := shortLease()
	cfg.PollMax = 50 * time.Millisecond
	zombie := tr.start(ctx, deafSource{tr.Source(testGroup)}, late, cfg)
	select {
	case <-sending:
	case <-ctx.Done():
		fail.Now(ctx.Err())
	}
	second := tr.start(ctx, tr.Source(testGroup), broker.Sink(), cfg)
	_, err := broker.AwaitDistinct(ctx, 2)
	close(answer)
	fail.If(err, "after the takeover")
	zombie.stop()
	second.stop()
	fail.In("after a relay without its lease wanted to park", func() { tr.nothingAside(ctx) })
	tr.verify(broker.Log(), []string{"a", "b"})
}
