package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

const (
	// tellers is the number of goroutines that run the bank's transactions, one transaction at a time each.
	tellers = 6
	// txTimeout bounds one transaction.
	txTimeout = 3 * time.Second
	// slowCommit is how long one transaction in a hundred waits before its commit.
	slowCommit = 20 * time.Millisecond
)

// errRollback makes one transaction in fifty roll back after everything is written.
var errRollback = errors.New("the bank has changed its mind")

// errPanicked is returned for a transaction whose function has panicked.
var errPanicked = errors.New("the transaction panicked")

// bank makes transfers. Each transfer changes two accounts and enqueues an event in one transaction.
type bank struct {
	*process

	store   store
	enqueue func(ctx context.Context, m outbox.Message) error
}

// bank makes transfers until ctx ends.
func (p *process) bank(ctx context.Context) error {
	s, err := p.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	b := newBank(p, s)
	if p.Sabotage == PublishBeforeCommit {
		publish, closePublisher, err := p.publisher()
		if err != nil {
			return err
		}
		defer closePublisher()
		b.enqueue = publish
	}
	var group sync.WaitGroup
	group.Go(func() { s.notify(ctx) })
	group.Go(func() { b.enqueueAsked(ctx) })
	for n := range tellers {
		group.Go(func() { b.teller(ctx, n) })
	}
	group.Wait()
	return nil
}

func newBank(p *process, s store) *bank {
	b := &bank{process: p, store: s}
	b.enqueue = func(ctx context.Context, m outbox.Message) error { return s.EnqueueContext(ctx, m) }
	return b
}

// teller runs one transaction at a time, at its share of the rate.
func (b *bank) teller(ctx context.Context, n int) {
	r := rand.New(rand.NewPCG(b.Seed, uint64(os.Getpid())<<8|uint64(n))) //nolint:gosec // a seed is not secret
	every := time.Second * tellers / time.Duration(b.Rate)
	next := time.Now().Add(time.Duration(r.Int64N(int64(every))))
	for {
		select {
		case <-b.quiet:
			return
		default:
		}
		if d := time.Until(next); d > 0 && !wait.Full(ctx, d) || ctx.Err() != nil {
			return
		}
		next = later(next.Add(every), time.Now().Add(-time.Second))
		if b.resting.Load() {
			continue
		}
		e, err := draw(r, b.Accounts, b.odd())
		if err != nil {
			b.log.ErrorContext(ctx, "no event", slog.Any("error", err))
			return
		}
		if err := b.transact(ctx, e, r.IntN(100)); err != nil && ctx.Err() == nil {
			wait.Full(ctx, 50*time.Millisecond) // the database is unavailable
		}
	}
}

// later returns the later of two times: after an outage the bank catches up on at most a second of
// missed transactions.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// transact makes one transfer and records how its transaction ended.
func (b *bank) transact(ctx context.Context, e event, whim int) error {
	ctx, cancel := context.WithTimeout(ctx, txTimeout)
	defer cancel()
	b.inflight.Add(1)
	defer b.inflight.Add(-1)
	t := transaction{bank: b, event: e, whim: whim}
	err := t.run(ctx)
	switch {
	case err == nil:
		b.enqueued.Add(1)
		b.note(history.Line{Type: history.Committed, ID: e.ID})
		return nil
	case !t.noted: // the intent is not in the history, so nothing can have been committed
	case t.written && !b.store.rolledBack(err):
		b.note(history.Line{Type: history.Unknown, ID: e.ID})
	default:
		b.note(history.Line{Type: history.Aborted, ID: e.ID})
	}
	switch {
	case errors.Is(err, errRollback):
		return nil
	case t.written:
		b.watch.seen("commit without an answer")
	default:
		b.watch.seen("rollback of the transfer")
	}
	return err
}

// transaction is a transfer in progress.
type transaction struct {
	*bank

	event   event
	whim    int  // 0 to 99
	noted   bool // the intent is in the history
	written bool // everything is written; only the commit is missing
}

// run runs the transaction. It survives a panic, as a server's handler does.
func (t *transaction) run(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return t.store.inTx(ctx, func(ctx context.Context) error {
		if err := t.write(ctx); err != nil {
			return err
		}
		switch t.whim {
		case 0, 1:
			return errRollback
		case 2:
			wait.Full(ctx, slowCommit)
		}
		t.written = true
		return nil
	})
}

// write enqueues the event first, before any row is locked, so that only Enqueue's own lock keeps
// the events of an account in the order of the commits.
func (t *transaction) write(ctx context.Context) error {
	e := t.event
	m, err := t.message(ctx, e)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := t.enqueueOf(e)(ctx, m); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	version, err := t.store.transfer(ctx, e)
	if err != nil {
		return fmt.Errorf("transfer: %w", err)
	}
	t.noted = true
	t.note(history.Line{
		Type: history.Intent, ID: e.ID, Key: e.From, Version: version, Amount: e.Amount, To: e.To,
		Topic: e.topic(), Digest: Digest(m.Payload),
	})
	return nil
}
