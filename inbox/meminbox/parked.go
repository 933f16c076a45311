package meminbox

import (
	"context"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
)

// parked is a message that waits for an operator, or behind one that does. The store's
// mutex guards it.
type parked struct {
	no       int64
	consumer string
	id       string // empty if it has none
	key      driver.Key
	msg      *message.Message
	reason   string
	history  driver.History
	at       time.Time

	waits   bool // behind an earlier message of its key
	redrive bool
	next    time.Time // when it is due, if it is redriven
	tries   int
	running bool
}

// queue returns the parked messages of a key; a message without one has none.
func (s *Store) queue(consumer string, key driver.Key) []*parked {
	var all []*parked
	for _, p := range s.parked {
		if key.Name != "" && p.consumer == consumer && p.key == key {
			all = append(all, p)
		}
	}
	return all
}

// Park implements driver.Parker.
func (c claims) Park(_ context.Context, req driver.ParkRequest) (driver.Status, error) {
	s, r := c.store, newRow(c.consumer, req.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.register(c.consumer)
	known, found := s.rows[r]
	switch {
	case known.committed:
		return driver.Duplicate, nil
	case found:
		return driver.Busy, nil
	case req.Behind && len(s.queue(c.consumer, req.Key)) == 0:
		return driver.NotBehind, nil
	}
	s.record(r)
	s.lastNo++
	p := &parked{
		no: s.lastNo, consumer: c.consumer, id: req.MessageID, key: req.Key, msg: req.Message.Copy(),
		reason: req.Reason, history: req.History, at: time.Now(), waits: len(s.queue(c.consumer, req.Key)) > 0,
	}
	s.parked = append(s.parked, p)
	if req.Reason != "" {
		s.note(p, "park", admin.By{Actor: c.consumer, Reason: req.Reason}, nil)
	}
	delete(s.attempts, r)
	return driver.Claimed, nil
}

// PickRedriven implements driver.Parker.
func (c claims) PickRedriven(context.Context) (driver.Redriven, bool, error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for _, p := range c.store.parked {
		if p.consumer != c.consumer || !p.redrive || p.running || p.next.After(time.Now()) {
			continue
		}
		p.tries++
		p.history.Attempts++
		p.history.Last = time.Now()
		p.next = p.history.Last.Add(10 * time.Second)
		return driver.Redriven{No: p.no, ID: p.id, Key: p.key, Message: p.msg.Copy(), Attempt: p.tries}, true, nil
	}
	return driver.Redriven{}, false, nil
}

// find returns the message that r was picked from, if it is unchanged. The caller holds the lock.
func (s *Store) find(r driver.Redriven) *parked {
	for _, p := range s.parked {
		if p.no == r.No && p.redrive && p.tries == r.Attempt && !p.running {
			return p
		}
	}
	return nil
}

// ClaimRedriven implements driver.Parker.
func (c claims) ClaimRedriven(ctx context.Context, r driver.Redriven) (driver.Unit, bool, error) {
	c.store.mu.Lock()
	p := c.store.find(r)
	if p != nil {
		p.running = true
	}
	c.store.mu.Unlock()
	if p == nil {
		return nil, false, nil
	}
	u := &unit{store: c.store, tx: &transaction{}, redriven: p}
	if err := c.take(ctx, u); err != nil {
		return nil, false, err
	}
	return u, true, nil
}

// commitRedriven removes p from its queue and makes the effects visible.
func (s *Store) commitRedriven(p *parked, effects []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, effect := range effects {
		effect()
	}
	s.remove(p)
	s.note(p, "done", admin.By{Actor: p.consumer}, nil)
}

// remove removes p from its queue. The caller holds the lock.
func (s *Store) remove(p *parked) {
	s.parked = slices.DeleteFunc(s.parked, func(q *parked) bool { return q == p })
}

func (s *Store) releaseRedriven(p *parked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.running = false
}

// FinishRedriven implements driver.Parker.
func (c claims) FinishRedriven(_ context.Context, r driver.Redriven) error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.promote(c.consumer, r.Key)
	return nil
}

// promote makes the first message of a key due, if none is before it. The caller holds the lock.
func (s *Store) promote(consumer string, key driver.Key) {
	if queue := s.queue(consumer, key); len(queue) > 0 && queue[0].waits {
		queue[0].waits, queue[0].redrive = false, true
	}
}

// FailRedriven implements driver.Parker.
func (c claims) FailRedriven(_ context.Context, r driver.Redriven, f driver.RedriveFailure) error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	p := c.store.find(r)
	if p == nil {
		return nil
	}
	p.history.Errors = newest(append(p.history.Errors, f.AttemptError))
	p.next = time.Now().Add(f.Retry)
	if f.Withdraw {
		p.tries--
		p.history.Attempts--
	}
	if f.Park {
		p.redrive, p.reason = false, f.Reason
	}
	return nil
}

// QueuedKeys implements driver.Parker.
func (c claims) QueuedKeys(_ context.Context, limit int) (keys []driver.Key, all bool, err error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	looked, seen := 0, map[driver.Key]bool{}
	for _, p := range c.store.parked {
		if p.consumer != c.consumer || p.key.Name == "" {
			continue
		}
		if looked++; looked > limit {
			break
		}
		if !seen[p.key] {
			keys = append(keys, p.key)
		}
		seen[p.key] = true
	}
	return keys, looked < limit, nil
}

// RecoverRedriven implements driver.Parker. It has nothing to recover: the store ends with the
// processes that redrive, and its clock is never set.
func (c claims) RecoverRedriven(context.Context, time.Duration) (int, error) {
	return 0, nil
}
