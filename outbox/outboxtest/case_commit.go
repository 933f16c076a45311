package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

func commitChecks() []Check {
	return []Check{
		{Name: "O1_RowExistsIffCommitted", run: rowExistsIffCommitted},
		{Name: "O1_EndedTransactionIsRefused", run: endedTransactionIsRefused},
		{Name: "O1_TransactionFromContext", run: transactionFromContext},
		{Name: "O1_NoMessageIsNoOp", run: noMessageIsNoOp},
		{Name: "O3_NothingReadableBeforeCommit", run: nothingReadableBeforeCommit, skip: oneWriter},
	}
}

func rowExistsIffCommitted(ctx context.Context, tr *trial) error {
	var want []string
	for i, committed := range []bool{true, false, true, true, false} {
		batch := numbered(fmt.Sprintf("tx%d", i), 3)
		if err := tr.finish(ctx, committed, named(batch...)...); err != nil {
			return err
		}
		if committed {
			want = append(want, batch...)
		}
	}
	// Several calls in one transaction, and one large call.
	tx, err := tr.open(ctx, named("first call")...)
	if err != nil {
		return err
	}
	big := numbered("big", 300)
	if most := tr.features.MaxMessages; most > 0 {
		big = big[:min(len(big), most-1)]
	}
	if err := errors.Join(tx.Enqueue(ctx, named(big...)...), tx.Commit(ctx)); err != nil {
		return err
	}
	want = append(append(want, "first call"), big...)
	return tr.expectAll(ctx, want...)
}

func endedTransactionIsRefused(ctx context.Context, tr *trial) error {
	for _, commit := range []bool{true, false} {
		tx, err := tr.open(ctx, named("open")...)
		if err != nil {
			return err
		}
		if err := end(ctx, tx, commit); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, named("after the end")...); !errors.Is(err, outbox.ErrNotInTransaction) {
			return unexpected("enqueue in a transaction that has ended", err, outbox.ErrNotInTransaction)
		}
	}
	return tr.expectAll(ctx, "open")
}

func transactionFromContext(ctx context.Context, tr *trial) error {
	if err := tr.EnqueueContext(ctx, named("no transaction")...); !errors.Is(err, outbox.ErrNotInTransaction) {
		return unexpected("enqueue without a transaction", err, outbox.ErrNotInTransaction)
	}
	for _, commit := range []bool{false, true} {
		tx, err := tr.begin(ctx)
		if err != nil {
			return err
		}
		if err := tr.EnqueueContext(tx.Context(ctx), named(fmt.Sprintf("committed %t", commit))...); err != nil {
			return fmt.Errorf("EnqueueContext: %w", err)
		}
		if err := end(ctx, tx, commit); err != nil {
			return err
		}
	}
	return tr.expectAll(ctx, "committed true")
}

func noMessageIsNoOp(ctx context.Context, tr *trial) error {
	tx, err := tr.open(ctx)
	if err != nil {
		return err
	}
	if err := tr.EnqueueContext(tx.Context(ctx)); err != nil {
		return fmt.Errorf("EnqueueContext of nothing: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return tr.expectAll(ctx)
}

func nothingReadableBeforeCommit(ctx context.Context, tr *trial) error {
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	tx, err := tr.open(ctx, append(named("a"), keyed("k", "b")...)...)
	if err != nil {
		return err
	}
	if err := r.expectDrain(ctx, 10); err != nil {
		return fmt.Errorf("while the transaction is open: %w", err)
	}
	if err := tr.commit(ctx, named("c")...); err != nil {
		return err
	}
	if err := r.expectDrain(ctx, 10, "c"); err != nil {
		return fmt.Errorf("while the transaction is open and another has committed: %w", err)
	}
	if err := tx.Rollback(ctx); err != nil {
		return err
	}
	if err := r.expectDrain(ctx, 10); err != nil {
		return fmt.Errorf("after the rollback: %w", err)
	}
	if err := tr.commit(ctx, keyed("k", "d")...); err != nil {
		return err
	}
	return r.expectDrain(ctx, 10, "d")
}
