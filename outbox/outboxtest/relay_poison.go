package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

func relayPoisonChecks() []Check {
	all := []Check{
		{Name: "Relay_O6_ParkedKeyWaitsForRedrive", run: parkedKeyWaitsForRedrive},
		{Name: "Relay_O6_DeadRecordLetsItsKeyGo", run: deadRecordLetsItsKeyGo},
		{Name: "Relay_O7_PoisonDelaysNoOther", run: poisonDelaysNoOther},
		{Name: "Relay_O7_OutageDelaysNoOtherTopic", run: outageDelaysNoOtherTopic},
		{Name: "Relay_O8_OutageCountsNothing", run: outageCountsNothing},
		{Name: "Relay_O9_ZombieParksNothing", run: zombieParksNothing},
	}
	for i := range all {
		all[i].skip = func(f Features) bool { return f.NoHolder }
	}
	return all
}

// patient is smallPages with a policy, and quick looks for what an operator has
// redriven.
func patient(p relay.Policy) relay.Config {
	cfg := smallPages()
	cfg.PollMax = 50 * time.Millisecond
	cfg.Policies = []relay.Policy{p}
	return cfg
}

// awaitAside waits until these records are parked, or dead.
func awaitAside(ctx context.Context, list lister, names ...string) ([]admin.HeldRecord, error) {
	var last error
	for {
		all, err := expectAside(ctx, "set aside", list, names)
		switch {
		case err == nil:
			return all, nil
		case ctx.Err() != nil:
			return nil, errors.Join(last, ctx.Err())
		}
		last = err
		_ = wait.For(ctx, 10*time.Millisecond) // the next round sees the error
	}
}

// payloadsOf returns those of a key in a broker's log.
func payloadsOf(log []outbox.Record, key string) []string {
	return names(slices.DeleteFunc(slices.Clone(log), func(r outbox.Record) bool { return r.Key != key }))
}

// parkedKeyWaitsForRedrive parks a key, lets another relay take over, and sends
// the key on when an operator has redriven it.
func parkedKeyWaitsForRedrive(ctx context.Context, tr *trial) error {
	op, err := tr.operator()
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x", "y")...)...); err != nil {
		return err
	}
	broker := NewBroker()
	sink := broker.Picky(refuses(outbox.FailureUnknown, "b"))
	run, err := tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Attempts: 3}))
	if err != nil {
		return err
	}
	parked, err := awaitAside(ctx, op.parked, "b", "c")
	if err != nil {
		return err
	}
	if got := parked[0]; len(got.Errors) != 3 || got.Attempts != 3 || got.Reason == "" {
		return fmt.Errorf("parked after 3 attempts: %+v", got)
	}
	if err := run.stop(); err != nil {
		return err
	}
	sink.Refuse(takesAll)
	if run, err = tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Attempts: 3})); err != nil {
		return err
	}
	if err := tr.commit(ctx, append(keyed("k", "d"), keyed("l", "z")...)...); err != nil {
		return err
	}
	if _, err := broker.AwaitDistinct(ctx, 4); err != nil {
		return err
	}
	if _, err := awaitAside(ctx, op.parked, "b", "c", "d"); err != nil {
		return errors.Join(err, fmt.Errorf("broker has %s", describe(broker.Log())))
	}
	if got := payloadsOf(broker.Log(), "k"); !slices.Equal(got, []string{"a"}) {
		return fmt.Errorf("while the key is parked: broker has %v of it, want [a]", got)
	}
	if err := op.redrive(ctx, ofKey(testKey("k"))); err != nil {
		return fmt.Errorf("redrive: %w", err)
	}
	if _, err := broker.AwaitDistinct(ctx, 7); err != nil {
		return fmt.Errorf("after a redrive: %w, broker has %s", err, describe(broker.Log()))
	}
	if err := tr.commit(ctx, keyed("k", "e")...); err != nil {
		return err
	}
	if _, err := broker.AwaitDistinct(ctx, 8); err != nil {
		return fmt.Errorf("after the key was redriven: %w", err)
	}
	if err := run.stop(); err != nil {
		return err
	}
	return tr.verify(broker.Log(), []string{"a", "b", "c", "d", "e", "x", "y", "z"})
}

// deadRecordLetsItsKeyGo gives up one record at once and one after two attempts.
func deadRecordLetsItsKeyGo(ctx context.Context, tr *trial) error {
	op, err := tr.operator()
	if err != nil {
		return err
	}
	if err := tr.commit(ctx, append(keyed("k", "a", "b", "c"), keyed("l", "x", "y", "z")...)...); err != nil {
		return err
	}
	broker := NewBroker()
	sink := broker.Picky(func(r *outbox.Record) error {
		return errors.Join(refuses(outbox.FailurePermanent, "a")(r), refuses(outbox.FailureUnknown, "y")(r))
	})
	cfg := patient(relay.Policy{Action: relay.DeadLetter, Attempts: 2})
	n, err := tr.once(ctx, sink, cfg)
	if err != nil || n != 4 {
		return fmt.Errorf("run once: %d records acknowledged, want 4: %w", n, err)
	}
	if _, err := awaitAside(ctx, op.Dead, "a", "y"); err != nil {
		return err
	}
	if _, err := expectAside(ctx, "parked", op.parked, nil); err != nil {
		return err
	}
	return tr.verify(broker.Log(), []string{"b", "c", "x", "z"})
}

// poisonDelaysNoOther refuses one key for ever while others are written.
func poisonDelaysNoOther(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, append(keyed("k", "a", "b"), named("u", "v")...)...); err != nil {
		return err
	}
	broker := NewBroker()
	sink := broker.Picky(refuses(outbox.FailureUnknown, "a", "u"))
	run, err := tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Action: relay.Block}))
	if err != nil {
		return err
	}
	want := []string{"v"}
	for i := range 10 {
		batch := numbered(fmt.Sprintf("m%d", i), 4)
		if err := tr.commit(ctx, append(keyed(fmt.Sprintf("l%d", i%3), batch...), keyed("k", fmt.Sprintf("k%d", i))...)...); err != nil {
			return err
		}
		want = append(want, batch...)
		if _, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
			return fmt.Errorf("behind a key that is refused: %w, broker has %s", err, describe(broker.Log()))
		}
	}
	if err := expectSet(broker.Log(), want); err != nil {
		return err
	}
	sink.Refuse(takesAll)
	want = append(want, "a", "b", "u")
	for i := range 10 {
		want = append(want, fmt.Sprintf("k%d", i))
	}
	if _, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
		return fmt.Errorf("after it is not refused any more: %w", err)
	}
	if err := run.stop(); err != nil {
		return err
	}
	return tr.verify(broker.Log(), want)
}

// inTopic is keyed for another topic.
func inTopic(topic, key string, names ...string) []outbox.Message {
	msgs := keyed(key, names...)
	for i := range msgs {
		msgs[i].Topic = topic
	}
	return msgs
}

// outageDelaysNoOtherTopic writes to two topics. One of them is out, and whole pages
// are for that one alone.
func outageDelaysNoOtherTopic(ctx context.Context, tr *trial) error {
	broker := NewBroker()
	sink := broker.Picky(away("out"))
	cfg := patient(relay.Policy{Attempts: 1})
	run, err := tr.start(ctx, tr.Source(testGroup), sink, cfg)
	if err != nil {
		return err
	}
	var up, out []string
	for i := range 5 {
		good, bad := numbered(fmt.Sprintf("up%d", i), 3), numbered(fmt.Sprintf("out%d", i), 12)
		if err := tr.commit(ctx, append(inTopic("out", fmt.Sprintf("k%d", i%2), bad...), keyed("k0", good...)...)...); err != nil {
			return err
		}
		up, out = append(up, good...), append(out, bad...)
		if _, err := broker.AwaitDistinct(ctx, len(up)); err != nil {
			return fmt.Errorf("while another topic is out: %w, broker has %s", err, describe(broker.Log()))
		}
	}
	if err := expectSet(broker.Log(), up); err != nil {
		return err
	}
	sink.Refuse(takesAll)
	if _, err := broker.AwaitDistinct(ctx, len(up)+len(out)); err != nil {
		return fmt.Errorf("after the topic is back: %w, broker has %s", err, describe(broker.Log()))
	}
	if err := run.stop(); err != nil {
		return err
	}
	if err := tr.nothingAside(ctx); err != nil {
		return err
	}
	return tr.verify(broker.Log(), append(up, out...))
}

// nothingAside expects that nothing was parked or given up.
func (tr *trial) nothingAside(ctx context.Context) error {
	op, err := tr.operator()
	if err != nil {
		return err
	}
	_, parked := expectAside(ctx, "parked", op.parked, nil)
	_, dead := expectAside(ctx, "dead", op.Dead, nil)
	skipped, err := op.skipped(ctx)
	if len(skipped) > 0 {
		err = fmt.Errorf("skipped: %v", skipped)
	}
	return errors.Join(parked, dead, err)
}

// outageCountsNothing lets everything be out for many calls, under a policy that
// parks a record at its first failed attempt.
func outageCountsNothing(ctx context.Context, tr *trial) error {
	want := numbered("m", 23)
	msgs := append(keyed("k", want[:10]...), named(want[10:]...)...)
	for i := range msgs {
		msgs[i].Topic = fmt.Sprintf("topic-%d", i%3)
	}
	if err := tr.commit(ctx, msgs...); err != nil {
		return err
	}
	broker := NewBroker()
	sink := broker.Picky(away(""))
	run, err := tr.start(ctx, tr.Source(testGroup), sink, patient(relay.Policy{Attempts: 1}))
	if err != nil {
		return err
	}
	for sink.Calls() < 30 {
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	if err := tr.nothingAside(ctx); err != nil {
		return fmt.Errorf("while everything is out: %w", err)
	}
	sink.Refuse(takesAll)
	if _, err := broker.AwaitDistinct(ctx, len(want)); err != nil {
		return fmt.Errorf("after everything is back: %w, broker has %s", err, describe(broker.Log()))
	}
	if err := run.stop(); err != nil {
		return err
	}
	if err := tr.nothingAside(ctx); err != nil {
		return err
	}
	return tr.verify(broker.Log(), want)
}

// deafSource is a source. Its sessions believe that they have renewed their lease.
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

// zombieParksNothing lets a relay that has lost its lease without noticing learn
// that a record can never be delivered, when another has delivered it.
func zombieParksNothing(ctx context.Context, tr *trial) error {
	if err := tr.commit(ctx, keyed("k", "a", "b")...); err != nil {
		return err
	}
	broker := NewBroker()
	sending, answer := make(chan struct{}, 1), make(chan struct{})
	late := broker.Picky(func(*outbox.Record) error {
		select {
		case sending <- struct{}{}:
		default:
		}
		<-answer
		return outbox.Failed(outbox.FailurePermanent, ErrInjected).Err
	})
	cfg := shortLease()
	cfg.PollMax = 50 * time.Millisecond
	zombie, err := tr.start(ctx, deafSource{tr.Source(testGroup)}, late, cfg)
	if err != nil {
		return err
	}
	select {
	case <-sending:
	case <-ctx.Done():
		return ctx.Err()
	}
	second, err := tr.start(ctx, tr.Source(testGroup), broker.Sink(), cfg)
	if err != nil {
		return err
	}
	_, err = broker.AwaitDistinct(ctx, 2)
	close(answer)
	if err != nil {
		return fmt.Errorf("after the takeover: %w", err)
	}
	if err := errors.Join(zombie.stop(), second.stop()); err != nil {
		return err
	}
	if err := tr.nothingAside(ctx); err != nil {
		return fmt.Errorf("after a relay without its lease wanted to park: %w", err)
	}
	return tr.verify(broker.Log(), []string{"a", "b"})
}
