package pgwindow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Slot is one independent place of reading: a relay group's slot.
type Slot struct {
	Group string
	No    int16
}

// Lease is the right to read a slot. Owner is one incarnation of one reader, so
// that an epoch that a crashed server forgot and issued twice still tells two
// readers apart.
type Lease struct {
	Slot  Slot
	Owner string
	Epoch int64
}

// Former are incarnations of one reader that are known to have ended: those
// whose owner's name is Prefix and a number up to Last. The zero value is none.
type Former struct {
	Prefix string
	Last   int64
}

// prefix is nil where there are none, so that nothing starts with it.
func (f Former) prefix() *string {
	if f.Prefix == "" {
		return nil
	}
	return &f.Prefix
}

// Beginner begins transactions.
type Beginner interface {
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
}

// Claim takes the lease of slot for owner. It does not wait: while another owner
// holds the lease it returns a *HeldError. A lease held by one of former is taken.
// The claim is committed synchronously whatever the session's setting.
func (s *Statements) Claim(ctx context.Context, db Beginner, slot Slot, owner string, former Former, ttl time.Duration) (Lease, error) {
	l := Lease{Slot: slot, Owner: owner}
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err := pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		claim := func() error {
			return tx.QueryRow(ctx, s.claim, slot.Group, slot.No, owner, former.prefix(), ttl.Microseconds(), former.Last).Scan(&l.Epoch)
		}
		err := claim()
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		tag, err := tx.Exec(ctx, s.claimRow, slot.Group, slot.No)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return s.held(ctx, tx, slot)
		}
		return claim()
	})
	return l, err
}

// held says who holds the lease.
func (s *Statements) held(ctx context.Context, db Querier, slot Slot) error {
	var held HeldError
	var micros int64
	err := db.QueryRow(ctx, s.holder, slot.Group, slot.No).Scan(&held.Owner, &micros)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	held.Remaining = time.Duration(micros) * time.Microsecond
	return &held
}

// Renew extends the lease to ttl from now, or returns ErrLost.
func (s *Statements) Renew(ctx context.Context, db Querier, l Lease, ttl time.Duration) error {
	tag, err := db.Exec(ctx, s.renew, l.Slot.Group, l.Slot.No, l.Owner, l.Epoch, ttl.Microseconds())
	if err == nil && tag.RowsAffected() == 0 {
		return fmt.Errorf("%w: epoch %d of %s", ErrLost, l.Epoch, l.Owner)
	}
	return err
}

// Release gives the lease up. Releasing a lost lease changes nothing.
func (s *Statements) Release(ctx context.Context, db Querier, l Lease) error {
	_, err := db.Exec(ctx, s.release, l.Slot.Group, l.Slot.No, l.Owner, l.Epoch)
	return err
}

// HeldError is an ErrHeld that names the holder.
type HeldError struct {
	Owner     string
	Remaining time.Duration
}

// Error names the holder.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v by %q for another %s", ErrHeld, e.Owner, e.Remaining)
}

// Unwrap returns ErrHeld.
func (e *HeldError) Unwrap() error {
	return ErrHeld
}
