package pgwindow

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Claim takes the lease of any slot of group for owner that can be had, and does not
// wait: where none can, it returns a *HeldError that names the holder whose lease ends
// first. A lease held by one of former is taken, unless its number is one of running.
// The group must be listed. The claim is committed synchronously whatever the
// session's setting.
func (c *Chain) Claim(ctx context.Context, db Beginner, group, owner string, former Former, running []int64, ttl time.Duration) (Lease, error) {
	l := Lease{Slot: Slot{Group: group}, Owner: owner}
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err := pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		claim := func() error {
			return tx.QueryRow(ctx, c.claim, group, owner, former.prefix(), ttl.Microseconds(), former.Last, running).
				Scan(&l.Slot.No, &l.Epoch)
		}
		err := claim()
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if _, err := tx.Exec(ctx, c.claimRows, group); err != nil {
			return err
		}
		// Again in any case: a rival may have made the rows while we waited for it.
		if err := claim(); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return c.held(ctx, tx, group)
	})
	return l, err
}

// held says who holds a lease of group.
func (c *Chain) held(ctx context.Context, db Querier, group string) error {
	var held HeldError
	var micros int64
	err := db.QueryRow(ctx, c.holder, group).Scan(&held.Owner, &micros)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	held.Remaining = time.Duration(micros) * time.Microsecond
	return &held
}
