package pgwindow

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Claim takes the lease of any available slot of group for owner. It does not wait: if there is
// none, it returns a *driver.LeaseHeldError that names the holder whose lease ends first. A lease
// held by one of former is taken over, unless that attempt is still running. Claim does not take
// over a lease whose session is gone: see pglease.Statements.Bury. The group must be listed. The
// claim is committed synchronously whatever the session's setting. It also returns the topics
// with which the slot was last read.
func (c *Chain) Claim(
	ctx context.Context, db pglease.Beginner, group, owner string, former pglease.Former, ttl time.Duration,
) (l pglease.Lease, topics []string, err error) {
	l = pglease.Lease{Slot: pglease.Slot{Group: group}, Owner: owner}
	running := append([]int64{}, former.Running...) // not NULL
	err = pglease.Synchronously(ctx, db, func(tx pgx.Tx) error {
		claim := func() error {
			return tx.QueryRow(ctx, c.claim, group, owner, former.NamePrefix(), ttl.Microseconds(), former.Last, running).
				Scan(&l.Slot.No, &l.Epoch, &topics)
		}
		err := claim()
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if _, err := tx.Exec(ctx, c.claimRows, group); err != nil {
			return err
		}
		// Claim again in any case: a rival may have created the rows while we waited for it.
		if err := claim(); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return pglease.Held(ctx, func() pgx.Row { return tx.QueryRow(ctx, c.holder, group) })
	})
	return l, topics, err
}
