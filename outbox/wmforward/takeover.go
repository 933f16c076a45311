package wmforward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// defaultTakeOverTimeout is the default of Config, if the lease allows it.
const defaultTakeOverTimeout = 2 * time.Second

// fenced is the transaction id after which a forwarder finds nothing.
const fenced = math.MaxUint64

// firstXid is the first id of an ordinary transaction.
const firstXid = 3

// standing is a forwarder's position: it has sent everything below, in the order (transaction id,
// number), and the row itself.
type standing struct {
	xid    uint64
	number int64
}

// window returns the window 0 that continues from it: its two snapshots, and the number up to
// which its rows are settled. The window holds the rows of the transaction that the forwarder may
// have left half-way.
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

// takeOverTimeout is how long a session with a lease of ttl waits for a forwarder's batch. A
// session that waited for longer than its lease would fence the forwarder for a relay that no
// longer leads.
func (s *Source) takeOverTimeout(ttl time.Duration) (time.Duration, error) {
	most := s.cfg.TakeOverTimeout
	if most == 0 {
		return min(defaultTakeOverTimeout, ttl/2), nil
	}
	if most >= ttl {
		return 0, outbox.ConfigError("TakeOverTimeout", most, fmt.Sprintf("must be less than the lease, %s", ttl))
	}
	return most, nil
}

// underLock runs fn in a transaction that waits up to most for a forwarder's batch and is durable
// when it returns.
func (s *Source) underLock(ctx context.Context, db pglease.Beginner, most time.Duration, fn func(pgx.Tx) error) error {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, db, opts, func(tx pgx.Tx) error {
		timeout := strconv.FormatInt(max(most.Milliseconds(), 1), 10)
		_, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true), set_config('synchronous_commit', 'on', true)", timeout)
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// takeOver starts a new group at the forwarder's position, and fences the forwarder. Both happen
// in one transaction, under the forwarder's lock.
//
// The lease may have gone to another session while it waited for the lock, which then starts the
// group itself: a session without a lease changes nothing, and the second of two continues from
// what the first has done.
func (s *Source) takeOver(ctx context.Context, db pglease.Beginner, most time.Duration, lease pglease.Lease, f facts) error {
	var at standing
	var begun bool
	err := s.underLock(ctx, db, most, func(tx pgx.Tx) (err error) {
		at, err = s.standing(ctx, tx, f)
		if errors.Is(err, errTakenOver) {
			_, loaded := s.window.Load(ctx, tx, lease.Slot)
			if begun = loaded == nil; begun || !errors.Is(loaded, pgx.ErrNoRows) {
				return loaded
			}
		}
		if err != nil {
			return err
		}
		return s.start(ctx, tx, lease, f, at)
	})
	if err != nil || begun {
		return err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "reading on where the forwarder stands",
		slog.String("table", s.cfg.Table), slog.Uint64("transaction_id", at.xid), slog.Int64("offset", at.number),
		slog.Bool("shadow", s.cfg.Shadow))
	return nil
}

// start stores where a new group begins, and fences the forwarder after it.
func (s *Source) start(ctx context.Context, tx pgx.Tx, lease pglease.Lease, f facts, at standing) error {
	prev, target, last := at.window()
	tag, err := tx.Exec(ctx, s.sql.start,
		lease.Slot.Group, lease.Slot.No, prev, target, last, lease.Owner, lease.Epoch, f.systemIdentifier)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("%w, which ended before it could start", lease.Lost())
	}
	if err != nil || s.cfg.Shadow || !f.offsets {
		return err
	}
	_, err = tx.Exec(ctx, s.sql.fence, s.cfg.ConsumerGroup)
	return err
}

// standing reads and checks the forwarder's position. Without one, it is at the first row. It
// reads the transactions only once it has the lock: a statement that waits still has the snapshot
// from before.
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
		return at, fmt.Errorf("%w: consumer group %q in %s", errTakenOver, s.cfg.ConsumerGroup, s.cfg.OffsetsTable)
	}
	var xmin uint64
	if err := tx.QueryRow(ctx, "SELECT pg_snapshot_xmin(pg_current_snapshot()) WHERE "+pgerr.Primary).Scan(&xmin); err != nil {
		return at, err
	}
	if at.xid > xmin || at.xid == xmin && at.number > 0 {
		return at, basis.Refuse(basis.ErrOtherCluster, fmt.Sprintf("the forwarder's position is at transaction %d, the oldest under way is %d", at.xid, xmin))
	}
	return at, nil
}

// keepOut fences the forwarder again if its position was put back: two senders would send
// everything twice.
func (s *Source) keepOut(ctx context.Context, db pglease.Beginner, most time.Duration, f facts) error {
	if s.cfg.Shadow || !f.offsets {
		return nil
	}
	return s.underLock(ctx, db, most, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, s.sql.fence, s.cfg.ConsumerGroup)
		if err == nil && tag.RowsAffected() > 0 {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the forwarder's position was changed behind our back, put away again",
				slog.String("table", s.cfg.OffsetsTable))
		}
		return err
	})
}
