package main

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"
)

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

// ingestBench plays GitHub and fate for the ingest service, and notes what came
// of each webhook.
type ingestBench struct {
	settings settings
	lines    []webhook
	ledger   *ledger
	window   *window
	db       *sql.DB // the ingest service's
}

func newIngestBench(s settings) (*ingestBench, error) {
	lines, err := webhookLines()
	if err != nil {
		return nil, err
	}
	l, err := openLedger(s.Dir)
	if err != nil {
		return nil, err
	}
	w, err := newWindow(s)
	if err != nil {
		l.close()
		return nil, err
	}
	db, err := openProducerDB(s)
	if err != nil {
		l.close()
		w.close()
		return nil, err
	}
	return &ingestBench{settings: s, lines: lines, ledger: l, window: w, db: db}, nil
}

// deliver hands the webhooks to receive as they arrive: the first ones calmly, and when
// all of them have had their effect the others, as fast as effects follow.
func (b *ingestBench) deliver(ctx context.Context, receive func(context.Context, webhook) error) error {
	handOver := func(ctx context.Context, index int) error {
		w, err := arrive(b.lines, index)
		if err != nil {
			return err
		}
		return receive(ctx, w)
	}
	calm := func(ctx context.Context) <-chan int { return paced(ctx, calmEvents, calmRate) }
	if err := inParallel(ctx, ingestWorkers, calm, handOver); err != nil {
		return err
	}
	if err := b.window.drained(ctx, calmEvents); err != nil {
		return err
	}
	if err := errors.Join(stormMarker(b.settings.Dir).put(), report{Calm: true}.send()); err != nil {
		return err
	}
	storm := func(ctx context.Context) <-chan int { return b.window.admit(ctx, calmEvents, b.settings.Events) }
	return errors.Join(inParallel(ctx, ingestWorkers, storm, handOver), b.window.err)
}

// beforeCommit decides how a transaction ends. A rare repository's stays open for
// a while, so that later ones commit before it: no other waits for its key.
func (b *ingestBench) beforeCommit(ctx context.Context, tx any, w webhook) error {
	switch {
	case b.slow(w) && b.settings.Sabotage == idCursor:
		return b.untilOvertaken(ctx, tx, w.ID)
	case b.slow(w):
		wait(ctx, b.settings.On.slowFor())
		return nil
	case b.rollsBack(w):
		return errRollback
	default:
		return nil
	}
}

func (b *ingestBench) slow(w webhook) bool {
	return w.rare && w.index%3 == 0 && w.index >= calmEvents && w.index < b.settings.Events-quietEnd
}

func (b *ingestBench) rollsBack(w webhook) bool {
	fate := rand.New(rand.NewPCG(b.settings.Seed, uint64(w.index))) //nolint:gosec // a repeatable choice, not a secret
	return w.index >= calmEvents && fate.Float64() < rollbackShare
}

func (b *ingestBench) committed(w webhook) error {
	note := noteCommitted
	if w.index >= warmEvents && w.index < calmEvents {
		note = noteCalm
	}
	return b.ledger.note(note, w.ID, time.Now())
}

func (b *ingestBench) rolledBack(w webhook) error {
	b.window.rolledBack.Add(1)
	return b.ledger.note(noteRolledBack, w.ID, time.Now())
}

func (b *ingestBench) close() {
	b.ledger.close()
	b.window.close()
	_ = b.db.Close()
}
