package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

var (
	errNoAdmin  = errors.New("the subject is no Admin; say Features.NoHolder")
	errNoError  = errors.New("no error")
	errNoHolder = errors.New("the session is no driver.Holder; say Features.NoHolder")
)

// setAside is a session that sets records aside, with what an operator sees of it.
type setAside struct {
	driver.Holder

	reader *reader
	op     operator
}

// holder starts a session of testGroup that can set records aside.
func (tr *trial) holder(ctx context.Context) (*setAside, error) {
	r, err := tr.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return tr.asHolder(r)
}

func (tr *trial) asHolder(r *reader) (*setAside, error) {
	op, err := tr.operator()
	if err != nil {
		return nil, err
	}
	h, ok := r.Session.(driver.Holder)
	if !ok {
		return nil, errNoHolder
	}
	return &setAside{Holder: h, reader: r, op: op}, nil
}

// next is a takeover of the session after its lease has run out.
func (tr *trial) next(ctx context.Context, old *setAside) (*setAside, error) {
	r, err := tr.takeOver(ctx, old.reader)
	if err != nil {
		return nil, err
	}
	return tr.asHolder(r)
}

// hold reads one page, which must hold these records, and gives each its fate;
// those that are Delivered were acknowledged.
func (s *setAside) hold(ctx context.Context, fates map[string]driver.Holding, names ...string) error {
	p, err := s.reader.expectPage(ctx, len(names)+1, names...)
	if err != nil {
		return err
	}
	if err := s.Hold(ctx, p, len(p.Records), holdings(p, fates)); err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	return nil
}

// holdings are the fates of the records of p, by their names.
func holdings(p driver.Page, fates map[string]driver.Holding) []driver.Holding {
	var all []driver.Holding
	for i := range p.Records {
		if h, ok := fates[string(p.Records[i].Payload)]; ok {
			h.Index = i
			all = append(all, h)
		}
	}
	return all
}

// expectDue expects that exactly these records are due, in this order.
func (s *setAside) expectDue(ctx context.Context, names ...string) ([]driver.Held, error) {
	return s.expectDueExcept(ctx, nil, names...)
}

func (s *setAside) expectDueExcept(ctx context.Context, except []string, names ...string) ([]driver.Held, error) {
	due, err := s.Due(ctx, 100, except)
	if err != nil {
		return nil, fmt.Errorf("due: %w", err)
	}
	if err := expect(recordsOf(due), names...); err != nil {
		return due, fmt.Errorf("due: %w", err)
	}
	return due, nil
}

func recordsOf(due []driver.Held) []outbox.Record {
	records := make([]outbox.Record, len(due))
	for i := range due {
		records[i] = due[i].Record
	}
	return records
}

// resolve gives the first of due, as many as there are fates, their fate, and
// expects these keys to be free.
func (s *setAside) resolve(ctx context.Context, due []driver.Held, fates []driver.Verdict, free ...driver.Key) error {
	for i := range fates {
		fates[i].Record = &due[i].Record
	}
	got, err := s.Resolve(ctx, fates)
	if err != nil {
		return fmt.Errorf("resolve: %w", err)
	}
	if !sameKeys(got, free) {
		return fmt.Errorf("resolve: keys %v are free, want %v", got, free)
	}
	return nil
}

// sameKeys compares two sets of keys without repetitions.
func sameKeys(a, b []driver.Key) bool {
	return len(a) == len(b) && !slices.ContainsFunc(b, func(k driver.Key) bool { return !slices.Contains(a, k) })
}

// deliver resolves all of due as delivered.
func (s *setAside) deliver(ctx context.Context, due []driver.Held, free ...driver.Key) error {
	fates := make([]driver.Verdict, len(due))
	for i := range fates {
		fates[i].Fate = driver.FateDelivered
	}
	return s.resolve(ctx, due, fates, free...)
}

// expectHeld expects these to be the keys that have held records.
func (s *setAside) expectHeld(ctx context.Context, keys ...driver.Key) error {
	got, err := s.HeldKeys(ctx)
	if err != nil {
		return fmt.Errorf("held keys: %w", err)
	}
	if !sameKeys(got, keys) {
		return fmt.Errorf("held keys: %v, want %v", got, keys)
	}
	return nil
}

// expectParked expects these records to be parked, or to wait behind one.
func (s *setAside) expectParked(ctx context.Context, names ...string) ([]admin.HeldRecord, error) {
	return expectAside(ctx, "parked", s.op.parked, names)
}

// expectDead expects these records to be set aside for good.
func (s *setAside) expectDead(ctx context.Context, names ...string) ([]admin.HeldRecord, error) {
	return expectAside(ctx, "dead", s.op.Dead, names)
}

func testKey(key string) driver.Key {
	return driver.Key{Topic: testTopic, Key: key}
}

func failed(times int) []driver.Attempt {
	all := make([]driver.Attempt, times)
	for i := range all {
		all[i] = driver.Attempt{Kind: outbox.FailureUnknown, Error: fmt.Sprintf("error %d", i+1)}
	}
	return all
}
