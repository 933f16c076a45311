package memoutbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// Enqueue stores msgs in tx: all of them, or none, and then the error names the one at fault. A
// call without messages does nothing. The messages can be read once tx has committed, and never
// if it rolls back; those with a NotBefore in the future can be read from then on.
//
// If another open transaction has enqueued one of the keys, Enqueue waits until that ends
// (Config.UnorderedKeys); two transactions that enqueue the same keys in opposite orders wait for
// one another until ctx ends. After a wait that ctx cut short, tx can only be rolled back.
//
// It returns outbox.ErrNotInTransaction if tx is nil or has ended, outbox.ErrWrongDatabase if tx
// was begun on another Outbox, and an *outbox.InvalidMessageError if a message cannot be stored.
func (ob *Outbox) Enqueue(ctx context.Context, tx *Tx, msgs ...outbox.Message) error {
	start := time.Now()
	ready, err := ob.enqueue(ctx, tx, msgs)
	if len(ob.cfg.Hooks) > 0 {
		e := outbox.EnqueueEvent{Messages: ready, Took: time.Since(start), Err: err}
		hooks.Call(ctx, logger.Or(nil), ob.cfg.Hooks, func(h outbox.EnqueueHook) { h.OnOutboxEnqueue(ctx, e) })
	}
	return err
}

// EnqueueContext is Enqueue in the transaction that ctx carries (see ContextWithTx and InTx). It
// returns outbox.ErrNotInTransaction if ctx carries none of this package.
func (ob *Outbox) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	tx, _ := txctx.As[*Tx](ctx)
	return ob.Enqueue(ctx, tx, msgs...)
}

// enqueue returns the messages as they were stored or, after an error, as they would have been.
func (ob *Outbox) enqueue(ctx context.Context, tx *Tx, msgs []outbox.Message) ([]outbox.Message, error) {
	switch {
	case tx == nil:
		return nil, outbox.ErrNotInTransaction
	case tx.ob != ob:
		return nil, outbox.ErrWrongDatabase
	}
	ready, err := ob.preparer.Prepare(ctx, msgs)
	if err != nil {
		return nil, err
	}
	if !ob.cfg.UnorderedKeys {
		if err := tx.lockKeys(ctx, ready); err != nil {
			return ready, err
		}
	}
	return ready, tx.insert(ready)
}

// insert draws the numbers and stores the rows so that only tx sees them.
func (tx *Tx) insert(msgs []outbox.Message) error {
	tx.ob.mu.Lock()
	defer tx.ob.mu.Unlock()
	if err := tx.usable(); err != nil {
		return err
	}
	// Rows have the precision of a PostgreSQL timestamptz.
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i := range msgs {
		m := clone(&msgs[i])
		if !m.OccurredAt.IsZero() {
			m.OccurredAt = m.OccurredAt.UTC().Truncate(time.Microsecond)
		}
		m.NotBefore = m.NotBefore.UTC().Truncate(time.Microsecond)
		if r := (outbox.Record{Message: m, Shard: shard(&m), CreatedAt: now}); m.NotBefore.After(now) {
			tx.ob.laterNo++
			r.Seq = tx.ob.laterNo
			tx.later = append(tx.later, r)
		} else {
			r.NotBefore, r.Seq = time.Time{}, tx.ob.draw()
			tx.rows = append(tx.rows, r)
		}
	}
	return nil
}

func shard(m *outbox.Message) int16 {
	if m.Key != "" {
		return keyhash.Shard([]byte(m.Key))
	}
	return keyhash.Shard([]byte(m.ID))
}

func clone(m *outbox.Message) outbox.Message {
	c := *m
	c.Payload = slices.Clone(m.Payload)
	c.Headers = maps.Clone(m.Headers)
	return c
}
