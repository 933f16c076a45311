package meminbox

import (
	"context"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
)

// parked is a message that waits for an operator, or behind one that does. The store's
// mutex guards it.
type parked struct {
	ParkedMessage

	consumer string
	waits    bool // for an earlier one of its key
	redrive  bool
	next     time.Time // when it is due, if it is redriven
	tries    int
	running  bool
}

// ParkedMessage is a message that waits for an operator, or behind one that does.
type ParkedMessage struct {
	// No grows with each message that is parked.
	No int64
	// ID is the message's id, empty if it has none.
	ID string
	// Key orders it.
	Key driver.Key
	// Message is a copy of the message.
	Message *message.Message
	// Reason is why it was parked, empty if it follows another one.
	Reason string
	// History is what is known of its attempts.
	History driver.History
}

// Parked returns the parked messages of consumer, in the order in which they were
// parked.
func (s *Store) Parked(consumer string) []ParkedMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []ParkedMessage
	for _, p := range s.parked {
		if p.consumer == consumer {
			all = append(all, p.ParkedMessage)
		}
	}
	return all
}

// Redrive makes the first messages of consumer's parked keys due for RunRedrive,
// and all messages without a key, if selects says so, and returns how many. The
// others of a key follow it in order.
func (s *Store) Redrive(consumer string, selects func(p ParkedMessage) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.parked {
		if p.consumer == consumer && !p.redrive && s.first(p) && selects(p.ParkedMessage) {
			p.redrive, p.next, p.tries = true, time.Time{}, 0
			n++
		}
	}
	return n
}

// queue returns the parked messages of a key; a message without one has none.
func (s *Store) queue(consumer string, key driver.Key) []*parked {
	var all []*parked
	for _, p := range s.parked {
		if key.Name != "" && p.consumer == consumer && p.Key == key {
			all = append(all, p)
		}
	}
	return all
}

// first reports whether p waits for no other message.
func (s *Store) first(p *parked) bool {
	queue := s.queue(p.consumer, p.Key)
	return len(queue) == 0 || queue[0] == p
}

// Park implements driver.Parker.
func (c claims) Park(_ context.Context, req driver.ParkRequest) (driver.ParkStatus, error) {
	s, r := c.store, newRow(c.consumer, req.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	committed, found := s.rows[r]
	switch {
	case committed:
		return driver.ParkDuplicate, nil
	case found:
		return driver.ParkBusy, nil
	case req.Behind && len(s.queue(c.consumer, req.Key)) == 0:
		return driver.ParkNotBehind, nil
	}
	if s.rows == nil {
		s.rows = map[row]bool{}
	}
	s.rows[r] = true
	s.lastNo++
	s.parked = append(s.parked, &parked{consumer: c.consumer, waits: len(s.queue(c.consumer, req.Key)) > 0, ParkedMessage: ParkedMessage{
		No: s.lastNo, ID: req.MessageID, Key: req.Key, Message: req.Message.Copy(), Reason: req.Reason, History: req.History,
	}})
	delete(s.attempts, r)
	return driver.ParkStored, nil
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
		p.History.Attempts++
		p.next = time.Now().Add(10 * time.Second)
		return driver.Redriven{No: p.No, ID: p.ID, Key: p.Key, Message: p.Message.Copy(), Attempt: p.tries}, true, nil
	}
	return driver.Redriven{}, false, nil
}

// find returns what r was picked from, if it is as it was. The caller holds the
// lock.
func (s *Store) find(r driver.Redriven) *parked {
	for _, p := range s.parked {
		if p.No == r.No && p.redrive && p.tries == r.Attempt && !p.running {
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
	u := &unit{store: c.store, tx: &Tx{}, redriven: p}
	if err := c.take(ctx, u); err != nil {
		return nil, false, err
	}
	return u, true, nil
}

// commitRedriven takes p out of its queue and makes what effects write visible.
func (s *Store) commitRedriven(p *parked, effects []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, effect := range effects {
		effect()
	}
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
	if queue := c.store.queue(c.consumer, r.Key); len(queue) > 0 && queue[0].waits {
		queue[0].waits, queue[0].redrive = false, true
	}
	return nil
}

// FailRedriven implements driver.Parker.
func (c claims) FailRedriven(_ context.Context, r driver.Redriven, f driver.RedriveFailure) error {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	p := c.store.find(r)
	if p == nil {
		return nil
	}
	p.History.Errors = newest(append(p.History.Errors, f.AttemptError))
	p.next = time.Now().Add(f.Retry)
	if f.Withdraw {
		p.tries--
		p.History.Attempts--
	}
	if f.Park {
		p.redrive, p.Reason = false, f.Reason
	}
	return nil
}

// RecoverRedriven implements driver.Parker. Nothing is left in the middle: who
// redrives ends with the memory.
func (c claims) RecoverRedriven(context.Context) (int, error) {
	return 0, nil
}
