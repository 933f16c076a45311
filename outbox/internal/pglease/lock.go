package pglease

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// Retry is how soon a claimant tries again after it has found a marked lease held. Each try costs
// one small statement.
const Retry = 350 * time.Millisecond

// Lock makes conn's session the proof that attempt a is alive, and returns the owner name under
// which it claims on conn. The name is marked if the lock was taken and lives as long as the
// connection. Lock must come before the claim: a lease that is marked and not locked would be
// taken from its holder. Behind a pooler, or without the right to lock, the owner is not marked,
// and its lease is valid until it expires.
func (s *Statements) Lock(ctx context.Context, conn *pgx.Conn, a Attempt) (owner string, err error) {
	var locked bool
	err = conn.QueryRow(ctx, s.lockable, pgx.QueryExecModeSimpleProtocol, int64(conn.PgConn().PID())).Scan(&locked)
	if err != nil || !locked {
		return a.Owner, err
	}
	owner = a.marked()
	err = conn.QueryRow(ctx, s.lock, pgx.QueryExecModeSimpleProtocol, owner).Scan(&locked)
	if err != nil || !locked { // another owner's hash is the same
		return a.Owner, err
	}
	return owner, nil
}

// Unlock undoes Lock, on a session that continues.
func (s *Statements) Unlock(ctx context.Context, conn *pgx.Conn, owner string) error {
	if !isMarked(owner) {
		return nil
	}
	_, err := conn.Exec(ctx, s.unlock, pgx.QueryExecModeSimpleProtocol, owner)
	return err
}

// Look returns a *driver.LeaseHeldError while an owner other than former holds the lease of slot,
// and nil if a claim after Bury may succeed. It writes nothing.
func (s *Statements) Look(ctx context.Context, db Querier, slot Slot, former Former) error {
	var held driver.LeaseHeldError
	var micros int64
	var marked, gone bool
	prefix := former.NamePrefix()
	if len(former.Running) > 0 {
		prefix = nil
	}
	err := db.QueryRow(ctx, s.look, slot.Group, slot.No, prefix, former.Last).Scan(&held.Owner, &micros, &marked, &gone)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && gone:
		return nil
	case err != nil:
		return err
	}
	held.Remaining = time.Duration(micros) * time.Microsecond
	if marked {
		held.Retry = Retry
	}
	return &held
}

// Gone returns the owners of marked leases of group whose session is gone. tx holds their locks
// until it ends.
func (s *Statements) Gone(ctx context.Context, tx pgx.Tx, group string) (owners []string, err error) {
	err = s.eachGone(ctx, tx, group, func(l Lease) error {
		owners = append(owners, l.Owner)
		return nil
	})
	return owners, err
}

// Bury releases the marked leases of group whose session is gone, and returns their owners. tx
// must be READ COMMITTED: leases that have changed since they were read are left alone.
//
// The lock is tried in one statement and the lease is released in the next, by owner and epoch.
// The first one saw the owner, which locked before it claimed, and its lock is gone. Everything
// that the owner's session has written was committed before the server released its lock.
func (s *Statements) Bury(ctx context.Context, tx pgx.Tx, group string) (owners []string, err error) {
	err = s.eachGone(ctx, tx, group, func(l Lease) error {
		tag, err := tx.Exec(ctx, s.bury, l.Slot.Group, l.Slot.No, l.Owner, l.Epoch)
		if err == nil && tag.RowsAffected() > 0 {
			owners = append(owners, l.Owner)
		}
		return err
	})
	return owners, err
}

// BuryNow is Bury in a separate transaction.
func (s *Statements) BuryNow(ctx context.Context, db Beginner, group string) (owners []string, err error) {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		owners, err = s.Bury(ctx, tx, group)
		return err
	})
	return owners, err
}

func (s *Statements) eachGone(ctx context.Context, tx pgx.Tx, group string, do func(Lease) error) error {
	rows, err := tx.Query(ctx, s.gone, group)
	if err != nil {
		return err
	}
	type look struct {
		Lease
		gone bool
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l look, err error) {
		l.Slot.Group = group
		return l, row.Scan(&l.Slot.No, &l.Owner, &l.Epoch, &l.gone)
	})
	for _, l := range all {
		if err == nil && l.gone {
			err = do(l.Lease)
		}
	}
	return err
}
