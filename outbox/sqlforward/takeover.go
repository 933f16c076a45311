package sqlforward

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/leat-go/leat/internal/sqlstore"
)

// fenced is the position after which a forwarder finds nothing.
const fenced = math.MaxInt64

// takeOver returns the forwarder's position, and moves the stored one past every number: a
// forwarder that is still running, or is started again by mistake, finds nothing to send. It
// waits for the batch that the forwarder is sending.
//
// A forwarder has sent all rows up to its position, since it reads under SERIALIZABLE and so
// waits for transactions that are open. A queue has no position: rows that are not acked must be
// sent, and a forwarder that is still running takes some of them.
func (f *Forwarder) takeOver(ctx context.Context, tx *sql.Tx, now int64) (at position, err error) {
	if f.cfg.Queue {
		return f.queueStart(ctx, tx, now)
	}
	made, err := sqlstore.Written(ctx, tx, f.sql["offset_new"], f.cfg.ConsumerGroup)
	if err != nil {
		return at, besideForwarder(err)
	}
	if made > 0 {
		if err := f.otherGroups(ctx, tx); err != nil {
			return at, err
		}
	}
	if at.last, err = f.lockOffset(ctx, tx); err != nil {
		return at, err
	}
	if at.last == fenced {
		return at, fmt.Errorf("%w: table %s, consumer group %q", errTakenOver, f.cfg.OffsetsTable, f.cfg.ConsumerGroup)
	}
	return at, f.storeOffset(ctx, tx, fenced)
}

// otherGroups refuses a consumer group without a position if others have one: the name is
// probably wrong, and everything that the forwarder has sent would be sent again.
func (f *Forwarder) otherGroups(ctx context.Context, tx *sql.Tx) error {
	others, err := sqlstore.Column[string](ctx, tx, f.sql["offset_others"], f.cfg.ConsumerGroup)
	if err != nil || len(others) == 0 {
		return err
	}
	return fmt.Errorf("%w: table %s has none of %q, but of %q", errWrongGroup, f.cfg.OffsetsTable, f.cfg.ConsumerGroup, others)
}

// queueStart returns the position that has seen only the acked rows: a row below all visible ones
// may belong to an open transaction.
func (f *Forwarder) queueStart(ctx context.Context, tx *sql.Tx, now int64) (at position, err error) {
	rows, err := tx.QueryContext(ctx, f.sql["queue_start"])
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var from, to int64
		if err := rows.Scan(&from, &to); err != nil {
			return at, err
		}
		at = at.after([]int64{from}, now)
		at.last = to
	}
	return at, rows.Err()
}

// keepOut fences the forwarder again if its position was put back: two senders would send
// everything twice.
func (f *Forwarder) keepOut(ctx context.Context, tx *sql.Tx) error {
	if f.cfg.Queue {
		return nil
	}
	last, err := f.lockOffset(ctx, tx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) || last == fenced {
		return err
	}
	f.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the forwarder's position was changed behind our back, put away again",
		slog.String("table", f.cfg.OffsetsTable), slog.Int64("offset", last))
	if _, err := tx.ExecContext(ctx, f.sql["offset_new"], f.cfg.ConsumerGroup); err != nil {
		return err
	}
	return f.storeOffset(ctx, tx, fenced)
}

func (f *Forwarder) lockOffset(ctx context.Context, tx *sql.Tx) (last int64, err error) {
	err = tx.QueryRowContext(ctx, f.sql["offset_lock"], f.cfg.ConsumerGroup).Scan(&last)
	return last, besideForwarder(err)
}

func (f *Forwarder) storeOffset(ctx context.Context, tx *sql.Tx, number int64) error {
	_, err := tx.ExecContext(ctx, f.sql["offset_store"], number, number, f.cfg.ConsumerGroup)
	return err
}
