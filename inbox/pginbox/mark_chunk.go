package pginbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/wait"
)

// mark records the ids of chunk, and retries those that are in progress.
func (in *Inbox) mark(ctx context.Context, chunk map[pgtype.UUID]struct{}, report *MarkReport) error {
	left := make([]pgtype.UUID, 0, len(chunk))
	for id := range chunk {
		left = append(left, id)
	}
	for pause := 10 * time.Millisecond; len(left) > 0; pause = min(2*pause, time.Second) {
		err := in.db.Use(ctx, func(conn *pgx.Conn) (err error) {
			left, err = in.markOn(ctx, conn, left, report)
			return err
		})
		if err != nil {
			return pgclaim.Explain(err)
		}
		if len(left) > 0 {
			_ = wait.For(ctx, pause)
		}
	}
	return nil
}

// markOn records ids and returns those that are in progress elsewhere. Ids of one place are
// recorded together, unless one of them has no range: then each is recorded alone.
func (in *Inbox) markOn(
	ctx context.Context, conn *pgx.Conn, ids []pgtype.UUID, report *MarkReport,
) (busy []pgtype.UUID, err error) {
	number, err := in.store.number(ctx, conn)
	if err != nil {
		return nil, err
	}
	var groups [2][]pgtype.UUID
	for _, id := range ids {
		at, err := in.store.place(ctx, conn, id)
		if err != nil {
			return nil, err
		}
		group := &groups[0]
		if at != plain {
			group = &groups[1]
		}
		*group = append(*group, id)
	}
	for i, group := range groups {
		if len(group) == 0 {
			continue
		}
		some, err := in.markIn(ctx, conn, number, i == 1, group, report)
		refused := pgerr.Is(err, pgerr.CheckViolation)
		if refused && len(ids) > 1 {
			some, err = in.markSingly(ctx, conn, group, report)
		} else if refused {
			some, err = in.markMoved(ctx, conn, group[0], err, report)
		}
		busy = append(busy, some...)
		if err != nil {
			return nil, err
		}
	}
	return busy, nil
}

func (in *Inbox) markSingly(
	ctx context.Context, conn *pgx.Conn, ids []pgtype.UUID, report *MarkReport,
) (busy []pgtype.UUID, err error) {
	for i := range ids {
		some, err := in.markOn(ctx, conn, ids[i:i+1], report)
		if err != nil {
			return nil, err
		}
		busy = append(busy, some...)
	}
	return busy, nil
}

// markMoved finds the place of id, and leaves it for another try.
func (in *Inbox) markMoved(
	ctx context.Context, conn *pgx.Conn, id pgtype.UUID, refusal error, report *MarkReport,
) ([]pgtype.UUID, error) {
	err := in.store.moved(ctx, conn, id, refusal)
	if errors.Is(err, driver.ErrTooOld) {
		report.TooOld++
		return nil, nil
	}
	return []pgtype.UUID{id}, err
}

// markIn records ids of one place in one transaction.
func (in *Inbox) markIn(
	ctx context.Context, conn *pgx.Conn, number int16, ranged bool, ids []pgtype.UUID, report *MarkReport,
) (busy []pgtype.UUID, err error) {
	sql, at := in.store.statements.mark, plain
	if ranged {
		sql, at = in.store.statements.markInRange, inRange
	}
	locks := make([]int64, len(ids))
	for i, id := range ids {
		locks[i] = in.store.Lock(id)
	}
	var done MarkReport
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, conn, pgpin.TxOptions(opts), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = on"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, at.args(number, ids, locks)...)
		if err != nil {
			return err
		}
		var id pgtype.UUID
		var ok, fresh bool
		_, err = pgx.ForEachRow(rows, []any{&id, &ok, &fresh}, func() error {
			switch {
			case !ok:
				busy = append(busy, id)
			case fresh:
				done.Marked++
			default:
				done.Known++
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	report.Marked += done.Marked
	report.Known += done.Known
	return busy, nil
}
