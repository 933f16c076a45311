package memoutbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

var (
	// ErrTxEnded is returned by Commit and Rollback of a transaction that has
	// been committed or rolled back before.
	ErrTxEnded = errors.New("leat: transaction has ended")

	// ErrTxAborted is returned by Commit of a transaction in which an Enqueue was
	// cut short by its context. The transaction is rolled back.
	ErrTxAborted = errors.New("leat: transaction was aborted by an earlier error")
)

// Tx is a transaction. Each must be ended by Commit or Rollback: until then it holds the keys
// that it has enqueued. It is safe for concurrent use, although a transaction usually has only
// one user.
type Tx struct {
	ob *Outbox
	// ended is closed when the transaction ends.
	ended chan struct{}

	// Guarded by ob.mu.
	rows    []outbox.Record
	later   []outbox.Record
	aborted bool
	closed  bool
}

// Begin starts a transaction. Its only error is that of a ctx that has ended;
// ending ctx later does not end the transaction.
func (ob *Outbox) Begin(ctx context.Context) (*Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &Tx{ob: ob, ended: make(chan struct{})}, nil
}

// Commit makes all messages of the transaction readable at once. It wakes no relay: call
// Outbox.Wake, or use InTx. If ctx has ended, it rolls back and returns the error of ctx.
func (tx *Tx) Commit(ctx context.Context) error {
	tx.ob.mu.Lock()
	defer tx.ob.mu.Unlock()
	if tx.closed {
		return ErrTxEnded
	}
	defer tx.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	if tx.aborted {
		return ErrTxAborted
	}
	tx.ob.log = append(tx.ob.log, tx.rows...)
	tx.ob.later = append(tx.ob.later, tx.later...)
	return nil
}

// Rollback discards the messages of the transaction. It succeeds with a ctx that has ended, and
// returns ErrTxEnded if the transaction has ended.
func (tx *Tx) Rollback(context.Context) error {
	tx.ob.mu.Lock()
	defer tx.ob.mu.Unlock()
	if tx.closed {
		return ErrTxEnded
	}
	tx.end()
	return nil
}

// InTx runs fn in a transaction: it commits and wakes the relays if fn returns
// nil, and rolls back if it returns an error or panics. The context that fn
// gets carries the transaction, for EnqueueContext.
func (ob *Outbox) InTx(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	tx, err := ob.Begin(ctx)
	if err != nil {
		return fmt.Errorf("leat: begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // has ended already if Commit was reached
	if err := fn(ContextWithTx(ctx, tx), tx); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("leat: commit: %w", err)
	}
	ob.Wake()
	return nil
}

// ContextWithTx returns a context that carries tx, for EnqueueContext and for
// publishers that take their transaction from the context.
func ContextWithTx(ctx context.Context, tx *Tx) context.Context {
	return txctx.With(ctx, tx)
}

// Context is ContextWithTx as a method.
func (tx *Tx) Context(ctx context.Context) context.Context {
	return ContextWithTx(ctx, tx)
}

// usable reports whether rows can be added. The caller holds ob.mu.
func (tx *Tx) usable() error {
	switch {
	case tx.closed:
		return outbox.ErrNotInTransaction
	case tx.aborted:
		return ErrTxAborted
	default:
		return nil
	}
}

func (tx *Tx) abort() {
	tx.ob.mu.Lock()
	defer tx.ob.mu.Unlock()
	tx.aborted = true
}

// end closes the transaction and unblocks those that wait for its keys. The caller holds ob.mu.
func (tx *Tx) end() {
	tx.closed = true
	tx.rows, tx.later = nil, nil
	tx.ob.locks.release(tx)
	close(tx.ended)
}
