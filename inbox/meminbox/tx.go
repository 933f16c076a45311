package meminbox

import (
	"context"
	"sync"
)

// transaction is the transaction of one delivery. It is safe for concurrent use.
type transaction struct {
	mu      sync.Mutex
	effects []func()
}

type txKey struct{}

func txOf(ctx context.Context) *transaction {
	tx, _ := ctx.Value(txKey{}).(*transaction)
	return tx
}

// OnCommit makes effect part of the transaction of the delivery whose handler got ctx: it is
// called when the transaction commits, in the order of the calls, and never if it does not.
// Transactions of one Store commit one at a time. Effect must not call the Store. OnCommit
// returns false, and effect is never called, if ctx carries no transaction.
func OnCommit(ctx context.Context, effect func()) bool {
	tx := txOf(ctx)
	if tx == nil {
		return false
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.effects = append(tx.effects, effect)
	return true
}

func (tx *transaction) all() []func() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	return tx.effects
}
