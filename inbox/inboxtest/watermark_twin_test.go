package inboxtest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
)

// watermarks is an inbox of positions in memory that may break one rule.
type watermarks struct {
	broken string

	mu      sync.Mutex
	next    map[partition]int64
	sources map[string]string // of a consumer and topic
	held    map[partition]bool
	effects []string
}

type partition struct {
	consumer, source string
	number           int32
}

func newWatermarks(broken string) *watermarks {
	return &watermarks{
		broken: broken, next: make(map[partition]int64), sources: make(map[string]string), held: make(map[partition]bool),
	}
}

var (
	_ inboxtest.PositionSubject   = (*watermarks)(nil)
	_ inboxtest.PositionForgetter = (*watermarks)(nil)
)

// watermarkInbox is the inbox of a consumer.
type watermarkInbox struct {
	*inbox.Processor

	store *watermarkStore
}

func (in watermarkInbox) Assigned(_ context.Context, parts []driver.Assignment) ([]int64, error) {
	return in.store.assigned(parts)
}

func (w *watermarks) Open(consumer string, topics []string, cfg inbox.Config) (inboxtest.PositionProcessor, error) {
	store := &watermarkStore{watermarks: w, consumer: consumer, topics: topics}
	cfg.IDFrom = inbox.IDFromFirst(inbox.DefaultIDSource(), inbox.IDSource{Name: "place", Find: func(msg *message.Message) (string, error) {
		at, _ := driver.PositionFrom(msg.Context())
		return fmt.Sprintf("%d@%d", at.Partition, at.Offset), nil
	}})
	p, err := inbox.New(store, consumer, cfg)
	return watermarkInbox{p, store}, err
}

func (w *watermarks) Write(ctx context.Context, effect string) error {
	u, ok := ctx.Value(unitKey{}).(*watermarkUnit)
	if !ok {
		return outbox.ErrNotInTransaction
	}
	if w.broken == "effects outlive a rollback" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.effects = append(w.effects, effect)
		return nil
	}
	u.effects = append(u.effects, effect)
	return nil
}

func (w *watermarks) Effects(context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.effects), nil
}

func (w *watermarks) Forget(_ context.Context, next int64, effects ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.next {
		w.next[p] = next
	}
	w.effects = effects
	return nil
}

// watermarkStore is a driver.Store of positions.
type watermarkStore struct {
	*watermarks

	consumer string
	topics   []string
}

func (s *watermarkStore) of(source string, number int32) partition {
	if s.broken == "partitions share a watermark" {
		number = 0
	}
	return partition{s.consumer, source, number}
}

// sound returns what is wrong with the name of a partition.
func (s *watermarkStore) sound(topic, source string, number int32) error {
	stored, canonical := ids.Map(source)
	switch {
	case !slices.Contains(s.topics, topic):
		return driver.ErrWrongTopic
	case !canonical || stored == ids.UUID{} || number < 0:
		return driver.ErrNoPosition
	default:
		return nil
	}
}

// Claim implements driver.Store.
func (s *watermarkStore) Claim(ctx context.Context, _ string) (driver.Unit, driver.Status, error) {
	at, ok := driver.PositionFrom(ctx)
	if !ok {
		return nil, 0, driver.ErrNoPosition
	}
	if err := s.sound(at.Topic, at.Source, at.Partition); err != nil {
		return nil, 0, err
	}
	if at.Offset < 0 || at.Prev < -1 || at.Prev >= at.Offset {
		return nil, 0, driver.ErrNoPosition
	}
	if !at.Serial && s.broken != "any session will do" {
		return nil, 0, driver.ErrNotSerial
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(at.Source, at.Partition)
	next, known := s.next[p]
	last := at.Prev
	if s.broken == "every number is a message's" {
		last = at.Offset - 1
	}
	switch current := s.sources[s.consumer+at.Topic]; {
	case !known && current != "" && current != at.Source && s.broken != "a topic is its name":
		return nil, 0, fmt.Errorf("%w: topic %.200q was %.200q and is %.200q", driver.ErrSourceChanged, at.Topic, current, at.Source)
	case !known:
		return nil, 0, driver.ErrNotAssigned
	case next > at.Offset && s.broken != "what was processed runs again":
		return nil, driver.Duplicate, nil
	case next <= last && s.broken != "gaps are passed over":
		return nil, 0, &driver.GapError{Position: at, Next: next}
	case s.held[p] && s.broken != "two handlers run at once":
		return nil, driver.Busy, nil
	}
	s.held[p] = true
	if s.broken == "the watermark moves before the handler" {
		s.next[p] = at.Offset + 1
	}
	return &watermarkUnit{store: s, partition: p, next: at.Offset + 1}, driver.Claimed, nil
}

// assigned checks all of parts before it stores any.
func (s *watermarkStore) assigned(parts []driver.Assignment) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make([]int64, len(parts))
	for i, a := range parts {
		if err := s.sound(a.Topic, a.Source, a.Partition); err != nil {
			return nil, err
		}
		current := s.sources[s.consumer+a.Topic]
		known, ok := s.next[s.of(a.Source, a.Partition)]
		next[i] = known
		if !ok || s.broken == "the group's offset counts" {
			next[i] = a.From
		}
		switch {
		case a.Start < 0 || a.End < a.Start || a.From < 0:
			return nil, driver.ErrNoPosition
		case current != "" && current != a.Source && s.broken != "a topic is its name":
			return nil, fmt.Errorf("%w: topic %.200q was %.200q and is %.200q", driver.ErrSourceChanged, a.Topic, current, a.Source)
		case next[i] > a.End && s.broken != "a log has all that it had":
			return nil, driver.ErrBeyondEnd
		}
		if s.broken == "assignments are stored one by one" {
			s.next[s.of(a.Source, a.Partition)] = next[i]
		}
	}
	for i, a := range parts {
		s.sources[s.consumer+a.Topic] = a.Source
		if _, ok := s.next[s.of(a.Source, a.Partition)]; !ok {
			s.next[s.of(a.Source, a.Partition)] = next[i]
		}
	}
	return next, nil
}

type unitKey struct{}

// watermarkUnit is a driver.Unit.
type watermarkUnit struct {
	store     *watermarkStore
	partition partition
	next      int64
	effects   []string
}

func (u *watermarkUnit) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, unitKey{}, u)
}

func (u *watermarkUnit) Commit(context.Context) error {
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	u.store.next[u.partition] = u.next
	u.store.effects = append(u.store.effects, u.effects...)
	u.store.held[u.partition] = false
	return nil
}

func (u *watermarkUnit) Rollback(context.Context) error {
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	u.store.held[u.partition] = false
	return nil
}
