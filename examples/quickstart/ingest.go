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

// receive is the service that receives webhooks. It never speaks to Kafka: it writes its event into
// the outbox, in the same transaction as its own rows. So there are both or neither.
//
// The event is enqueued first, before any row is locked, so that only Enqueue's own lock keeps the
// events of a repository in the order of the commits.
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

// The rest is the test bench, which plays GitHub and injects failures.

const (
	// ingestWorkers is how many webhooks are received at the same time.
	ingestWorkers = 8
	// rollbackShare is the share of the transactions that roll back.
	rollbackShare = 0.05
	// calmEvents is how many webhooks arrive before the first failure, and calmRate how many of them
	// arrive in a second. The servers are still cold for the first warmEvents.
	calmEvents = 300
	calmRate   = 60
	warmEvents = 60
	// quietEnd is how many of the last webhooks are never slow, so that there is
	// always something to overtake a slow one.
	quietEnd = 300
)

// errRollback is the reason why a transaction that has done everything right rolls back.
var errRollback = errors.New("the business says no")

// arrivals passes webhooks to receive when they are due.
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

// beforeCommit decides how a transaction ends. A rare repository's stays open for a while, so that
// later ones commit before it: no other transaction waits for its key.
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

// givenUp is how long a full window waits for an effect before it continues: a broken rule loses some
// effects, and a relay that is down delays them for less.
const givenUp = 10 * time.Second

// admitted yields the numbers from calmEvents on, each when an earlier webhook has had its effect,
// so that the measurement does not show how long a queue can get.
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

// room waits until fewer than most of the issued webhooks are in flight, or until givenUp.
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
			p.run.over.Add(int64(flying)) // the checker finds the missing ones
		}
		if !wait(ctx, lookEvery) {
			return false
		}
	}
}
