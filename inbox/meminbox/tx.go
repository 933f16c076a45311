package meminbox

import (
	"context"
	"sync"
)

// Tx is the transaction of one delivery. It is safe for concurrent use, and
// ended by the inbox alone.
type Tx struct {
	mu      sync.Mutex
	effects []func()
}

type txKey struct{}

// FromContext returns the transaction of the delivery whose handler got ctx, or
// nil if there is none.
func FromContext(ctx context.Context) *Tx {
	tx, _ := ctx.Value(txKey{}).(*Tx)
	return tx
}

// OnCommit makes effect part of the transaction: it is called when the
// transaction commits, in the order of the calls, and never if it does not.
// Transactions of one Store commit one at a time. Effect must not call the
// Store.
func (tx *Tx) OnCommit(effect func()) {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.effects = append(tx.effects, effect)
}

func (tx *Tx) all() []func() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	return tx.effects
}
