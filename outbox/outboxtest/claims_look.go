package outboxtest

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func found(is bool) presence {
	if is {
		return present
	}
	return absent
}

func seeNothing(context.Context, *trial) (presence, error) { return unknown, nil }

// seeSecond tries to enqueue msgs while a transaction is open that has enqueued them, too.
func (tr *trial) seeSecond(ctx context.Context, msgs []outbox.Message) (waited bool, err error) {
	first, err := tr.open(ctx, msgs...)
	if err != nil {
		return false, err
	}
	short, cancel := context.WithTimeout(ctx, blockedFor)
	defer cancel()
	second, err := tr.Begin(short)
	if err == nil {
		err = second.Enqueue(short, msgs...)
		_ = second.Rollback(context.WithoutCancel(ctx)) // any error: the connection may be gone with the wait
	}
	waited = err != nil && short.Err() != nil
	if waited {
		err = nil
	}
	return waited, errors.Join(err, first.Rollback(ctx))
}

func seeWriters(ctx context.Context, tr *trial) (presence, error) {
	waited, err := tr.seeSecond(ctx, named("claims"))
	return found(!waited), err
}

// seeKeyOrder cannot tell why the second writer waits where all do.
func seeKeyOrder(ctx context.Context, tr *trial) (presence, error) {
	if tr.features.OneWriter {
		return unknown, nil
	}
	waited, err := tr.seeSecond(ctx, keyed("claims", "claims"))
	return found(waited), err
}

// seeGroups tries to hold the leases of two groups.
func seeGroups(ctx context.Context, tr *trial) (presence, error) {
	r, err := tr.acquire(ctx)
	if err != nil {
		return unknown, err
	}
	other, err := acquireFrom(ctx, tr.Source("another"))
	if err == nil {
		err = other.Release(ctx)
		return present, errors.Join(err, r.Release(ctx))
	}
	return absent, r.Release(ctx)
}

func seeDelay(ctx context.Context, tr *trial) (presence, error) {
	tx, err := tr.begin(ctx)
	if err != nil {
		return unknown, err
	}
	err = tx.Enqueue(ctx, until(time.Now().Add(time.Hour), named("claims")...)...)
	return found(err == nil), tx.Rollback(ctx)
}

func seeWakes(ctx context.Context, tr *trial) (presence, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return found(tr.Source(testGroup).Wakes(ctx) != nil), nil
}

// seeSession looks at a session of testGroup.
func seeSession[T any](ctx context.Context, tr *trial) (presence, error) {
	r, err := tr.acquire(ctx)
	if err != nil {
		return unknown, err
	}
	_, is := r.Session.(T)
	return found(is), r.Release(ctx)
}

func seeHolder(ctx context.Context, tr *trial) (presence, error) {
	return seeSession[driver.Holder](ctx, tr)
}

func seePositions(ctx context.Context, tr *trial) (presence, error) {
	return seeSession[driver.Positioned](ctx, tr)
}

func seeSlots(_ context.Context, tr *trial) (presence, error) {
	_, is := tr.Source(testGroup).(driver.Sharded)
	return found(is), nil
}

// seeSlotChange asks for another number of slots for a while.
func seeSlotChange(ctx context.Context, tr *trial) (presence, error) {
	if tr.features.NoSlots {
		return absent, nil
	}
	short, cancel := context.WithTimeout(ctx, 10*changeTTL)
	defer cancel()
	f := tr.fleet(2)
	if err := f.change(short, 2); err != nil {
		return unknown, err
	}
	defer func() { _ = f.release(context.WithoutCancel(ctx)) }()
	return found(f.change(short, 3) == nil), nil
}

func seeStarts(_ context.Context, tr *trial) (presence, error) {
	return tr.seeGroup(GroupConfig{Name: "claims", Start: Start{Now: true}}), nil
}

func seeTopics(_ context.Context, tr *trial) (presence, error) {
	return tr.seeGroup(GroupConfig{Name: "claims", Topics: []string{testTopic}}), nil
}

// seeGroup asks a Grouper for a group that is as cfg says.
func (tr *trial) seeGroup(cfg GroupConfig) presence {
	g, ok := tr.Subject.(Grouper)
	if !ok {
		return unknown
	}
	_, err := g.Group(cfg)
	return found(err == nil)
}

// seeHistory settles a record in one group and looks for it in a new one.
func seeHistory(ctx context.Context, tr *trial) (presence, error) {
	if tr.features.NoGroups {
		return unknown, nil
	}
	if err := tr.commit(ctx, named("claims")...); err != nil {
		return unknown, err
	}
	if _, err := tr.readAll(ctx); err != nil {
		return unknown, err
	}
	r, err := acquireFrom(ctx, tr.Source("claims"))
	if err != nil {
		return unknown, err
	}
	got, err := r.drain(ctx, 10)
	if err != nil {
		return unknown, err
	}
	return found(len(got) > 0), r.Release(ctx)
}

func seeRetention(_ context.Context, tr *trial) (presence, error) {
	_, is := tr.Subject.(Retainer)
	return found(is), nil
}

// seeReplay looks for a method of the subject, such as of an outbox that it embeds, that
// returns a driver.History.
func seeReplay(_ context.Context, tr *trial) (presence, error) {
	if _, is := tr.Subject.(Replayer); is {
		return present, nil
	}
	for method := range reflect.TypeOf(tr.Subject).Methods() {
		for out := range method.Type.Outs() {
			if out.Implements(reflect.TypeFor[driver.History]()) {
				return present, nil
			}
		}
	}
	return unknown, nil
}
