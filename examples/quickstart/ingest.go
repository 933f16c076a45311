package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leat-go/leat/outbox"
)

// receive is the service that receives webhooks. It never speaks to Kafka: what it has to tell,
// it writes into the outbox, in the transaction of what it tells. So there are both or neither.
//
// The event is enqueued first, before any row is locked, and so Enqueue's own
// lock is what keeps the events of a repository in the order of the commits.
func (p *performance) receive(ctx context.Context, w webhook) error {
	err := p.producer.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := p.producer.enqueue(ctx, tx, outbox.Message{
			ID: w.ID, Topic: p.settings.Topic, Key: w.Repository, Type: w.Type, Payload: w.Payload,
		})
		if err != nil {
			return fmt.Errorf("enqueue webhook %s: %w", w.ID, err)
		}
		if _, err := p.producer.exec(ctx, tx, "next_version", w.Repository); err != nil {
			return err
		}
		if _, err := p.producer.exec(ctx, tx, "record_delivery", w.ID, w.Type, w.Repository); err != nil {
			return err
		}
		return p.beforeCommit(ctx, tx, w) // some take their time here, some fail
	})
	if errors.Is(err, errRollback) {
		p.run.rolledBack(w.ID)
		return nil
	}
	if err == nil {
		p.run.committed(w)
	}
	return err
}

// The rest is the test bench, which plays GitHub and fate.

const (
	// ingestWorkers is how many webhooks are received at a time.
	ingestWorkers = 8
	// rollbackShare is the part of the transactions that roll back.
	rollbackShare = 0.05
	// calmEvents is how many webhooks arrive before anything goes wrong, calmRate how
	// many of those in a second. The first warmEvents find the servers cold.
	calmEvents = 300
	calmRate   = 60
	warmEvents = 60
	// quietEnd is how many of the last webhooks are never slow, so that there is
	// always something to overtake a slow one.
	quietEnd = 300
)

// errRollback is why a transaction that has done everything right rolls back.
var errRollback = errors.New("the business says no")

// arrivals hands webhooks to receive, as they are due.
func (p *performance) arrivals(ctx context.Context, due func(context.Context) <-chan int) error {
	lines, err := webhookLines()
	if err != nil {
		return err
	}
	return inParallel(ctx, ingestWorkers, due, func(ctx context.Context, index int) error {
		w, err := arrive(lines, index)
		if err != nil {
			return err
		}
		return p.receive(ctx, w)
	})
}

// beforeCommit decides how a transaction ends. A rare repository's stays open for
// a while, so that later ones commit before it: no other waits for its key.
func (p *performance) beforeCommit(ctx context.Context, tx *sql.Tx, w webhook) error {
	switch s := p.settings; {
	case s.slow(w) && s.Sabotage == idCursor:
		return p.untilOvertaken(ctx, tx, w.ID)
	case s.slow(w):
		wait(ctx, s.On.slowFor())
		return nil
	case s.rollsBack(w):
		return errRollback
	default:
		return nil
	}
}

func (s settings) slow(w webhook) bool {
	return w.rare && w.index%3 == 0 && w.index >= calmEvents && w.index < s.Events-quietEnd
}

func (s settings) rollsBack(w webhook) bool {
	fate := rand.New(rand.NewPCG(s.Seed, uint64(w.index))) //nolint:gosec // a repeatable choice, not a secret
	return w.index >= calmEvents && fate.Float64() < rollbackShare
}

// lookEvery is how often a full window looks for effects.
const lookEvery = 5 * time.Millisecond

// givenUp is how long no effect may come before a full window goes on all the same:
// a broken rule loses some, and a relay that is down holds them up for less.
const givenUp = 10 * time.Second

// admitted yields the numbers from calmEvents on, each when an earlier webhook has had its
// effect, so that what is measured is not how long a queue can get.
func (p *performance) admitted(ctx context.Context) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		for i := calmEvents; i < p.settings.Events && p.room(ctx, i, p.settings.InFlight); i++ {
			select {
			case out <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// room waits until fewer than most of those that were issued are in flight, or given up.
func (p *performance) room(ctx context.Context, issued, most int) bool {
	last, moved := -1, time.Now()
	for {
		flying := issued - int(p.run.over.Load())
		switch {
		case flying < most:
			return true
		case flying != last:
			last, moved = flying, time.Now()
		case time.Since(moved) > givenUp:
			p.run.over.Add(int64(flying)) // the checker finds out what is missing
		}
		if !wait(ctx, lookEvery) {
			return false
		}
	}
}
