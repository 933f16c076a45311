package wmforward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgwindow"
)

// fenced is the transaction id behind which a forwarder finds nothing.
const fenced = math.MaxUint64

// firstXid is the first that an ordinary transaction can have.
const firstXid = 3

// standing is where a forwarder stands: it has sent what is below, in the order
// (transaction id, number), and the row itself.
type standing struct {
	xid    uint64
	number int64
}

// window returns the window 0 that continues it: its two snapshots, and the
// number up to which its rows are settled. The window holds the rows of the one
// transaction that the forwarder may have left in the middle.
func (at standing) window() (prev, target string, last int64) {
	first := max(at.xid, firstXid)
	prev = everythingBelow(first)
	if at.xid < firstXid || at.number <= 0 {
		return prev, prev, 0
	}
	return prev, everythingBelow(first + 1), at.number
}

func everythingBelow(xid uint64) string {
	n := strconv.FormatUint(xid, 10)
	return n + ":" + n + ":"
}

// underLock runs fn in a transaction that waits for a forwarder's batch for up to
// TakeOverTimeout and is durable when it returns.
func (s *Source) underLock(ctx context.Context, db pgwindow.Beginner, fn func(pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		timeout := strconv.FormatInt(max(s.cfg.TakeOverTimeout.Milliseconds(), 1), 10)
		_, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true), set_config('synchronous_commit', 'on', true)", timeout)
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// takeOver starts a new group where the forwarder stands, and puts the forwarder
// out of work. Both are one transaction, under the forwarder's lock.
func (s *Source) takeOver(ctx context.Context, db pgwindow.Beginner, lease pgwindow.Lease, f facts) error {
	var at standing
	err := s.underLock(ctx, db, func(tx pgx.Tx) (err error) {
		if at, err = s.standing(ctx, tx, f); err != nil {
			return err
		}
		prev, target, last := at.window()
		_, err = tx.Exec(ctx, s.sql.start,
			lease.Slot.Group, lease.Slot.No, prev, target, last, lease.Owner, lease.Epoch, f.systemIdentifier)
		if err != nil || s.cfg.Shadow || !f.offsets {
			return err
		}
		_, err = tx.Exec(ctx, s.sql.fence, s.cfg.ConsumerGroup)
		return err
	})
	if err != nil {
		return err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "reading on where the forwarder stands",
		slog.String("table", s.cfg.Table), slog.Uint64("transaction_id", at.xid), slog.Int64("offset", at.number),
		slog.Bool("shadow", s.cfg.Shadow))
	return nil
}

// standing reads and checks the forwarder's position. Where it has none, it is at
// the first row. It looks at the transactions only once it has the lock: a
// statement that waits still has the snapshot from before.
func (s *Source) standing(ctx context.Context, tx pgx.Tx, f facts) (standing, error) {
	var at standing
	if !f.offsets {
		return at, nil
	}
	err := tx.QueryRow(ctx, s.sql.position, s.cfg.ConsumerGroup).Scan(&at.xid, &at.number)
	if errors.Is(err, pgx.ErrNoRows) {
		return standing{}, nil
	}
	if err != nil {
		return at, err
	}
	if at.xid == fenced {
		return at, fmt.Errorf("%w: consumer group %q in %s", ErrTakenOver, s.cfg.ConsumerGroup, s.cfg.OffsetsTable)
	}
	var xmin uint64
	if err := tx.QueryRow(ctx, "SELECT pg_snapshot_xmin(pg_current_snapshot())").Scan(&xmin); err != nil {
		return at, err
	}
	if at.xid > xmin || at.xid == xmin && at.number > 0 {
		return at, fmt.Errorf("%w: transaction %d, the oldest under way is %d", errAhead, at.xid, xmin)
	}
	return at, nil
}

// keepOut puts the forwarder out of work again where somebody has put it back:
// two that send would double everything.
func (s *Source) keepOut(ctx context.Context, db pgwindow.Beginner, f facts) error {
	if s.cfg.Shadow || !f.offsets {
		return nil
	}
	return s.underLock(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, s.sql.fence, s.cfg.ConsumerGroup)
		if err == nil && tag.RowsAffected() > 0 {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the forwarder's position was changed behind our back, put away again",
				slog.String("table", s.cfg.OffsetsTable))
		}
		return err
	})
}
