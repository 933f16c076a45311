package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// ingestWorkers is how many webhooks are received at a time.
	ingestWorkers = 8
	// rollbackShare is the part of the transactions that roll back.
	rollbackShare = 0.05
	// slowFor is how long a slow transaction stays open.
	slowFor = 200 * time.Millisecond
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
	return &ingestBench{settings: s, lines: lines, ledger: l}, nil
}

// deliver hands the webhooks to receive as they arrive.
func (b *ingestBench) deliver(ctx context.Context, receive func(context.Context, webhook) error) error {
	arrivals := func(ctx context.Context) <-chan int { return paced(ctx, b.settings.Events, b.settings.Rate) }
	return inParallel(ctx, ingestWorkers, arrivals, func(ctx context.Context, index int) error {
		w, err := arrive(b.lines, index)
		if err != nil {
			return err
		}
		return receive(ctx, w)
	})
}

// beforeCommit decides how a transaction ends. A rare repository's stays open for
// a while, so that later ones commit before it: no other waits for its key.
func (b *ingestBench) beforeCommit(ctx context.Context, tx pgx.Tx, w webhook) error {
	switch {
	case b.slow(w):
		return b.settings.Sabotage.dawdle(ctx, tx)
	case b.rollsBack(w):
		return errRollback
	default:
		return nil
	}
}

func (b *ingestBench) slow(w webhook) bool {
	return w.rare && w.index%3 == 0 && w.index < b.settings.Events-quietEnd
}

func (b *ingestBench) rollsBack(w webhook) bool {
	fate := rand.New(rand.NewPCG(b.settings.Seed, uint64(w.index))) //nolint:gosec // a repeatable choice, not a secret
	return fate.Float64() < rollbackShare
}

func (b *ingestBench) committed(w webhook) error {
	return b.ledger.note(noteCommitted, w.ID, time.Now())
}

func (b *ingestBench) rolledBack(w webhook) error {
	return b.ledger.note(noteRolledBack, w.ID, time.Now())
}

func (b *ingestBench) close() { b.ledger.close() }
