package memoutbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// state is that of a held record.
type state int

const (
	retry  state = iota // is tried again at its time
	wait                // follows an earlier record of its key
	parked              // waits for an operator, and all behind it of its key with it
)

// held is a record that a relay has set aside.
type held struct {
	outbox.Record

	state    state
	next     time.Time // of retry
	attempts int
	errors   []string
	reason   string
}

// asides are the records that the relays of a group have set aside, in order of
// Seq. Outbox.mu guards them.
type asides struct {
	held    []*held
	dead    []*held
	skipped []string
}

// asides returns those of a group. The caller holds ob.mu.
func (ob *Outbox) asides(group string) *asides {
	a := ob.aside[group]
	if a == nil {
		a = &asides{}
		ob.aside[group] = a
	}
	return a
}

func keyOf(r *outbox.Record) driver.Key {
	return driver.Key{Topic: r.Topic, Key: r.Key}
}

// head returns the first held record of key; nil where there is none, and for
// records without a key.
func (a *asides) head(key driver.Key) *held {
	if key.Key == "" {
		return nil
	}
	for _, h := range a.held {
		if keyOf(&h.Record) == key {
			return h
		}
	}
	return nil
}

// find returns the held record of number seq.
func (a *asides) find(seq int64) *held {
	at, ok := a.search(seq)
	if !ok {
		return nil
	}
	return a.held[at]
}

func (a *asides) search(seq int64) (int, bool) {
	return slices.BinarySearchFunc(a.held, seq, func(h *held, seq int64) int { return cmp.Compare(h.Seq, seq) })
}

func (a *asides) add(h *held) {
	at, _ := a.search(h.Seq)
	a.held = slices.Insert(a.held, at, h)
}

func (a *asides) remove(h *held) {
	if at, ok := a.search(h.Seq); ok {
		a.held = slices.Delete(a.held, at, at+1)
	}
}

// follow makes the first held record of key due, if it waits: that before it
// has left.
func (a *asides) follow(key driver.Key, now time.Time) {
	if h := a.head(key); h != nil && h.state == wait {
		h.state, h.next = retry, now
	}
}

// note counts failed deliveries.
func (h *held) note(attempts []driver.Attempt) {
	h.attempts += len(attempts)
	for _, at := range attempts {
		h.errors = append(h.errors, at.Error)
	}
}

// become gives h the fate of a record that stays held, or sets it aside for
// good.
func (a *asides) become(h *held, fate driver.Fate, next time.Time, reason string) {
	h.reason = reason
	switch fate {
	case driver.FateRetry:
		h.state, h.next = retry, next
	case driver.FatePark:
		h.state = parked
	case driver.FateDead:
		a.remove(h)
		a.dead = append(a.dead, h)
	case driver.FateSkip:
		a.remove(h)
		a.skipped = append(a.skipped, h.ID)
	case driver.FateDelivered:
		a.remove(h)
	case driver.FateWait:
		h.state = wait
	}
}
