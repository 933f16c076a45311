package pgoutbox

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

var _ driver.Eraser = operator{}

// eraseSpan is how many numbers of the log one statement reads, so that none delays the server's
// clean-up for long; eraseChunk is how many rows one transaction deletes.
const (
	eraseSpan  = 1_000_000
	eraseChunk = 1000
)

// Erase implements driver.Eraser. It searches in the direction in which messages move: first the
// delayed ones, then the log, then the held ones.
func (o operator) Erase(ctx context.Context, r driver.EraseRequest) (driver.Erased, error) {
	if err := erase.Check(&r); err != nil {
		return driver.Erased{}, err
	}
	found, err := o.erase(ctx, r)
	if !r.DryRun {
		o.bell.ring()
	}
	return found, describe(err)
}

func (o operator) erase(ctx context.Context, r driver.EraseRequest) (found driver.Erased, err error) {
	if err := o.findDelayed(ctx, &r, &found); err != nil {
		return found, err
	}
	seqs, err := o.findLog(ctx, &r, &found)
	if err != nil {
		return found, err
	}
	held, _, err := o.held.FindErased(ctx, o.pool, &r)
	if err != nil {
		return found, err
	}
	erase.Merge(&found, held)
	all := erase.With(r, found.IDs)
	audited, err := o.held.FindAudited(ctx, o.pool, &all)
	erase.Count(&found, erase.Audit, audited)
	if err != nil || r.DryRun {
		return found, err
	}
	return found, o.eraseFound(ctx, all, seqs)
}

// eraseFound deletes what was found. The audit comes first, since after an interruption the ids
// can no longer be found by a header, and once more at the end, for entries added in the
// meantime.
func (o operator) eraseFound(ctx context.Context, r driver.EraseRequest, seqs []int64) error {
	if err := o.held.EraseAudited(ctx, o.pool, &r); err != nil {
		return err
	}
	if err := pgheld.Durably(ctx, o.pool, o.sql.eraseDelayed, append(pgheld.EraseArgs(&r), r.Actor, r.Reason)...); err != nil {
		return err
	}
	for part := range slices.Chunk(seqs, eraseChunk) {
		if err := pgheld.Durably(ctx, o.pool, o.sql.eraseLog, part, r.IDs, r.Actor, r.Reason); err != nil {
			return err
		}
	}
	_, groups, err := o.held.FindErased(ctx, o.pool, &r) // relays may have set more aside
	if err != nil {
		return err
	}
	if err := o.held.Erase(ctx, o.pool, &r, groups); err != nil {
		return err
	}
	return o.held.EraseAudited(ctx, o.pool, &r)
}

func (o operator) findDelayed(ctx context.Context, r *driver.EraseRequest, found *driver.Erased) error {
	rows, err := o.pool.Query(ctx, o.sql.eraseDelayedFind, pgheld.EraseArgs(r)...)
	if err != nil {
		return err
	}
	var id, topic string
	_, err = pgx.ForEachRow(rows, []any{&id, &topic}, func() error {
		erase.Add(found, erase.Delayed, id, topic)
		return nil
	})
	return err
}

func (o operator) findLog(ctx context.Context, r *driver.EraseRequest, found *driver.Erased) (seqs []int64, err error) {
	var first, last int64
	if err := o.pool.QueryRow(ctx, o.sql.eraseBounds).Scan(&first, &last); err != nil {
		return nil, err
	}
	for from := first; from <= last && last > 0; from += eraseSpan {
		rows, err := o.pool.Query(ctx, o.sql.eraseFind, append(pgheld.EraseArgs(r), from, min(from+eraseSpan-1, last))...)
		if err != nil {
			return nil, err
		}
		var seq int64
		var id, topic string
		_, err = pgx.ForEachRow(rows, []any{&seq, &id, &topic}, func() error {
			seqs = append(seqs, seq)
			erase.Add(found, erase.Log, id, topic)
			return nil
		})
		if err != nil {
			return nil, err
		}
		erase.Walked(r, min(from+eraseSpan, last+1)-first, last+1-first)
	}
	return seqs, nil
}
