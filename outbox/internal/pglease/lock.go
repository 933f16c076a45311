package pglease

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// Retry is how soon a claimant asks again that has found a marked lease held. A look costs one
// small statement.
const Retry = 350 * time.Millisecond

// Lock lets conn's session say that attempt a lives, and returns the owner under which it claims
// on conn: marked, if the lock is there and lives as long as the connection. It must come before
// the claim: a lease that is marked and not locked would be taken from its holder. Behind a
// pooler, or without the right to lock, the owner is not marked, and its lease counts until it
// runs out.
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

// Unlock takes back what Lock has done, on a session that goes on.
func (s *Statements) Unlock(ctx context.Context, conn *pgx.Conn, owner string) error {
	if !isMarked(owner) {
		return nil
	}
	_, err := conn.Exec(ctx, s.unlock, pgx.QueryExecModeSimpleProtocol, owner)
	return err
}

// Look returns a *driver.LeaseHeldError while another owner than former holds the lease of slot,
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

// Gone returns the owners of marked leases of group whose session is gone. Their locks are tx's
// until it ends.
func (s *Statements) Gone(ctx context.Context, tx pgx.Tx, group string) (owners []string, err error) {
	err = s.eachGone(ctx, tx, group, func(l Lease) error {
		owners = append(owners, l.Owner)
		return nil
	})
	return owners, err
}

// Bury gives up the marked leases of group whose session is gone, and returns their owners. tx
// must be READ COMMITTED: what has changed since the look is left alone.
//
// The lock is tried in one statement and the lease given up in the next, by owner and epoch: so
// the look saw the owner, its lock came before its claim, and it is not there any more. Whatever
// the owner's session has written was committed before the server gave its lock back.
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

// BuryNow is Bury in a transaction of its own.
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
