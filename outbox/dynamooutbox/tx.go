package dynamooutbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
)

// Tx collects the items of one TransactWriteItems. Nothing is sent before Commit. It is safe
// for concurrent use.
type Tx struct {
	ob *Outbox

	mu    sync.Mutex
	ended bool
	items []types.TransactWriteItem // the caller's
	msgs  []outbox.Message
	bytes int
}

// Begin returns an empty transaction. It costs nothing; one that is dropped needs no Rollback.
func (o *Outbox) Begin() *Tx {
	return &Tx{ob: o}
}

// InTx runs fn, commits what it has added and enqueued, and wakes the relays of this process.
// If fn returns an error or panics, nothing is sent. The context that fn is given carries tx,
// so that EnqueueContext and Watermill publishers on it enqueue in the same transaction. Errors
// are those of Tx.Commit.
func (o *Outbox) InTx(ctx context.Context, fn func(ctx context.Context, tx *Tx) error) error {
	tx := o.Begin()
	defer tx.Rollback()
	if err := fn(ContextWithTx(ctx, tx), tx); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if failpoint.Inject(ctx, failpoint.ProducerAfterCommitBeforeWake) == nil {
		o.Wake()
	}
	return nil
}

// ContextWithTx returns a context that carries tx, for EnqueueContext.
func ContextWithTx(ctx context.Context, tx *Tx) context.Context {
	return txctx.With(ctx, tx)
}

// TxFrom returns the transaction that ctx carries.
func TxFrom(ctx context.Context) (*Tx, bool) {
	return txctx.As[*Tx](ctx)
}

// errFull is wrapped by the error of a transaction that has become too large.
var errFull = errors.New("leat: transaction is full")

// Add adds items of the caller, of any table of the account and region. It returns
// outbox.ErrNotInTransaction if tx has ended, and an error if there are too many items.
func (tx *Tx) Add(items ...types.TransactWriteItem) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return outbox.ErrNotInTransaction
	}
	if err := room(len(tx.items)+len(items), tx.msgs, tx.bytes); err != nil {
		return err
	}
	tx.items = append(tx.items, items...)
	return nil
}

// Rollback ends tx. Nothing was sent; after Commit it changes nothing.
func (tx *Tx) Rollback() {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.ended = true
}

// enqueue adds messages that are prepared.
func (tx *Tx) enqueue(msgs []outbox.Message) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.ended {
		return outbox.ErrNotInTransaction
	}
	all, bytes := slices.Concat(tx.msgs, msgs), tx.bytes
	for i := range msgs {
		bytes += sizeOf(&msgs[i])
	}
	if err := room(len(tx.items), all, bytes); err != nil {
		return err
	}
	tx.msgs, tx.bytes = all, bytes
	return nil
}

// maxTxBytes bounds the messages of a transaction, which may have 4 MB with the caller's items.
const maxTxBytes = 3_900_000

// room returns an error if a transaction with n items of the caller and these messages is too
// large.
func room(items int, msgs []outbox.Message, bytes int) error {
	if n := items + len(msgs) + len(keysOf(msgs)); n > maxItems {
		return fmt.Errorf("%w: %d items: the caller's, one for each message and one for each key; must be at most %d", errFull, n, maxItems)
	}
	if bytes > maxTxBytes {
		return fmt.Errorf("%w: %d bytes of messages; must be at most %d", errFull, bytes, maxTxBytes)
	}
	return nil
}
