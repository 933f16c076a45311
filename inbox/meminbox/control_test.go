package meminbox

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// control is a subject that has every feature, and may break one rule. The conformance
// suite must notice.
type control struct {
	subject

	// Each of these is the unbroken thing where it is nil.
	store     func(s *controlStore) driver.Store
	processor func(p *inbox.Processor) inbox.Runner
	batches   func(b *inbox.Batch) inboxtest.BatchProcessor
	admin     func(a *operators) admin.Inbox
	marker    func(m driver.Marker) driver.Marker
	write     func(effect string)
	enqueue   func(msgs []outbox.Message)
	forget    func(age time.Duration)
	lower     func(r *admin.LowerFloorRequest)
	moves     map[string]func(ctx context.Context) error

	mu    sync.Mutex
	locks map[uint16]bool // those that are held
	floor time.Time       // older messages are forgotten
}

var (
	_ inboxtest.FailureSubject = (*control)(nil)
	_ inboxtest.BatchSubject   = (*control)(nil)
	_ inboxtest.Forgetter      = (*control)(nil)
	_ inboxtest.Collider       = (*control)(nil)
	_ inboxtest.Mover          = (*control)(nil)
	_ inboxtest.MarkSubject    = (*control)(nil)
)

func newControl() *control {
	return &control{locks: map[uint16]bool{}}
}

func (c *control) open(consumer string, cfg inbox.Config) (*inbox.Processor, error) {
	inner := &controlStore{
		breakingStore: breakingStore{claims: claims{store: &c.subject.store, consumer: consumer}, subject: &c.subject}, c: c,
	}
	if c.store != nil {
		return inbox.New(c.store(inner), consumer, cfg)
	}
	return inbox.New(inner, consumer, cfg)
}

func (c *control) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	p, err := c.open(consumer, cfg)
	if err != nil || c.processor == nil {
		return p, err
	}
	return c.processor(p), nil
}

func (c *control) OpenBatch(consumer string, cfg inbox.Config, batch inbox.BatchConfig) (inboxtest.BatchProcessor, error) {
	p, err := c.open(consumer, cfg)
	if err != nil {
		return nil, err
	}
	b, err := inbox.NewBatch(p, batch)
	if err != nil || c.batches == nil {
		return b, err
	}
	return c.batches(b), nil
}

func (c *control) Admin() (admin.Inbox, error) {
	if c.admin != nil {
		return c.admin(&operators{store: &c.subject.store}), nil
	}
	return lowerable{&operators{store: &c.subject.store}, c}, nil
}

// lowerable are operators of an inbox that forgets.
type lowerable struct {
	*operators

	c *control
}

func (f lowerable) Retention(context.Context) (admin.Retention, error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	return admin.Retention{Mode: admin.RetainDelete, At: time.Now(), Floor: f.c.floor}, nil
}

func (f lowerable) LowerFloor(_ context.Context, r admin.LowerFloorRequest) (previous time.Time, err error) {
	if f.c.lower != nil {
		f.c.lower(&r)
	}
	if err := admin.Complete(&r); err != nil {
		return previous, err
	}
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	previous = f.c.floor
	to, err := r.Check(time.Now(), previous)
	if err != nil || r.DryRun {
		return previous, err
	}
	f.c.floor = to
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.note(&parked{}, "lower_floor", r.By, nil)
	return previous, nil
}

func (c *control) Marker() (driver.Marker, error) {
	if c.marker != nil {
		return c.marker(&c.subject.store), nil
	}
	return &c.subject.store, nil
}

func (c *control) Write(ctx context.Context, effect string) error {
	if c.write != nil {
		c.write(effect)
		return nil
	}
	return c.subject.Write(ctx, effect)
}

func (c *control) Outbox() outbox.Enqueuer { return controlOutbox{c} }

type controlOutbox struct{ c *control }

func (o controlOutbox) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	if o.c.enqueue != nil {
		o.c.enqueue(msgs)
		return nil
	}
	return o.c.subject.Outbox().EnqueueContext(ctx, msgs...)
}

func (controlOutbox) Wake() {}

// lockOf is the lock of a message: there are 4096.
func lockOf(id string) uint16 {
	stored, _ := ids.Map(id)
	return binary.BigEndian.Uint16(stored[14:]) & 0xfff
}

func (*control) ShareLock(_, id, other string) bool { return lockOf(id) == lockOf(other) }

// Ground is that of an inbox behind caches, if a control has moves.
func (c *control) Ground() (store string, moves map[string]func(ctx context.Context) error) {
	if c.moves == nil {
		return "", nil
	}
	return string(basis.Caches), c.moves
}

// Forget forgets what is older than age, if nobody has it in hand.
func (c *control) Forget(_ context.Context, age time.Duration) error {
	if c.forget != nil {
		c.forget(age)
		return nil
	}
	c.raise(age)
	c.drop(age, func(r claimed) bool { return r.committed })
	return nil
}

// raise raises the floor.
func (c *control) raise(age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.floor = time.Now().Add(-age)
}

// drop forgets the ids that are older than age, if may allows it.
func (c *control) drop(age time.Duration, may func(r claimed) bool) {
	s := &c.subject.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for row, r := range s.rows {
		if made, timed := ids.Time(row.id); timed && time.Since(made) > age && may(r) {
			delete(s.rows, row)
		}
	}
}

// tooOld reports whether the message called id may have been forgotten.
func (c *control) tooOld(id string) bool {
	stored, _ := ids.Map(id)
	made, timed := ids.Time(stored)
	c.mu.Lock()
	defer c.mu.Unlock()
	return timed && made.Before(c.floor)
}

// controlStore claims under few locks, and forgets.
type controlStore struct {
	breakingStore

	c *control
}

// Claim implements driver.Store.
func (s *controlStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	if !s.lock(id) {
		return nil, driver.Busy, nil
	}
	u, status, err := s.breakingStore.Claim(ctx, id)
	if status == driver.Claimed && s.c.tooOld(id) {
		err = u.Rollback(ctx)
		if err == nil {
			err = driver.ErrTooOld
		}
		u = nil
	}
	if u == nil {
		s.unlock(id)
		return nil, status, err
	}
	return &controlUnit{Unit: u, unlock: func() { s.unlock(id) }}, status, nil
}

func (s *controlStore) lock(id string) bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	lock := lockOf(id)
	if s.c.locks[lock] {
		return false
	}
	s.c.locks[lock] = true
	return true
}

func (s *controlStore) unlock(id string) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	delete(s.c.locks, lockOf(id))
}

// controlUnit gives the lock back.
type controlUnit struct {
	driver.Unit

	unlock func()
}

func (u *controlUnit) Commit(ctx context.Context) error {
	defer u.unlock()
	return u.Unit.Commit(ctx)
}

func (u *controlUnit) Rollback(ctx context.Context) error {
	defer u.unlock()
	return u.Unit.Rollback(ctx)
}
