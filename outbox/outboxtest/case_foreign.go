package outboxtest

import (
	"context"
	"fmt"
)

func foreignChecks() []Check {
	return []Check{{Name: "O11_OpenTransactionDelaysNothing", run: openTransactionDelaysNothing, skip: oneWriter}}
}

// openTransactionDelaysNothing reads window after window while a transaction
// that wrote to the outbox before all of them stays open, and, where the
// subject can, one that has nothing to do with it.
func openTransactionDelaysNothing(ctx context.Context, tr *trial) error {
	if holder, ok := tr.Subject.(ForeignHolder); ok {
		release, err := holder.HoldForeign(ctx)
		if err != nil {
			return fmt.Errorf("hold a foreign transaction: %w", err)
		}
		tr.cleanup(release)
	}
	held, err := tr.open(ctx, append(keyed("held", "late-1"), named("late-2")...)...)
	if err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	for round := range 5 {
		batch := numbered(fmt.Sprintf("round%d", round), 4)
		if err := tr.commit(ctx, keyed(fmt.Sprintf("key%d", round%2), batch...)...); err != nil {
			return err
		}
		if err := r.expectDrain(ctx, 3, batch...); err != nil {
			return fmt.Errorf("while another transaction is open: %w", err)
		}
		if round == 2 {
			if r, err = tr.hand(ctx, r); err != nil {
				return err
			}
		}
	}
	if err := held.Commit(ctx); err != nil {
		return err
	}
	return r.expectDrain(ctx, 1, "late-1", "late-2")
}
