package pginbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/wait"
)

const (
	// sweepEvery is the time between two passes over the plain table, and over the tables of
	// attempts and notes, which have no index by age.
	sweepEvery = time.Hour
	// sweepPages is the number of pages of the plain table that one statement reads.
	sweepPages = 128
	// drainPatience is how long a round waits for the transactions that were open
	// when the floor was raised.
	drainPatience = 2 * time.Second
)

// raised is a floor that was raised. Nothing below it may be deleted until all transactions that
// were open at that time have ended.
type raised struct {
	floor   pgtype.UUID
	lowered int32
	open    []string // virtual transactions
}

// deleteBelow deletes ids below the floor, for an inbox that does not drop ranges. In such an
// inbox each claim reads the floor in the statement that inserts the id. But between its
// snapshot, which may still see the former floor, and its insert, the row of an earlier run could
// be deleted, and the message would run again. So rows are deleted only after every transaction
// that was open when the floor was raised has ended.
func (r *maintenanceRound) deleteBelow(ctx context.Context) error {
	if r.state.mode != modeDelete {
		return nil
	}
	if r.waiting == nil || r.waiting.lowered != r.state.lowered {
		var open []string
		if err := r.pool.QueryRow(ctx, r.statements.open).Scan(&open); err != nil {
			return err
		}
		r.waiting = &raised{floor: r.state.floor, lowered: r.state.lowered, open: open}
	}
	drained, err := r.drained(ctx)
	if err != nil || !drained {
		r.report.Busy = r.report.Busy || err == nil
		return err
	}
	below := *r.waiting
	r.waiting = nil
	rows, err := r.pool.Query(ctx, "SELECT id FROM "+r.names.Qualified("_consumers")+" WHERE "+pgerr.Primary)
	if err != nil {
		return err
	}
	consumers, err := pgx.CollectRows(rows, pgx.RowTo[int16])
	if err != nil {
		return err
	}
	for _, consumer := range consumers {
		if err := r.deleteOf(ctx, consumer, below); err != nil {
			return err
		}
	}
	return nil
}

// drained waits a little for the transactions to end, and reports whether they have.
func (r *maintenanceRound) drained(ctx context.Context) (bool, error) {
	patience := time.Now().Add(drainPatience)
	for {
		var open []string
		if err := r.pool.QueryRow(ctx, r.statements.open).Scan(&open); err != nil {
			return false, err
		}
		left := slices.ContainsFunc(r.waiting.open, func(tx string) bool { return slices.Contains(open, tx) })
		if !left || time.Now().After(patience) || ctx.Err() != nil {
			return !left, ctx.Err()
		}
		_ = wait.For(ctx, 20*time.Millisecond)
	}
}

// deleteOf deletes one consumer's ids.
func (r *maintenanceRound) deleteOf(ctx context.Context, consumer int16, below raised) error {
	return r.inChunks(ctx, &r.report.Deleted, r.statements.deleteBelow, consumer, below.floor, below.lowered)
}

// inChunks repeats a statement, whose last parameter is the number of rows to delete, until it
// deletes fewer. After each it pauses for as long as the statement took.
func (r *maintenanceRound) inChunks(ctx context.Context, deleted *int64, statement string, args ...any) error {
	args = append(args, r.cfg.DeleteChunk)
	for ctx.Err() == nil {
		began := time.Now()
		tag, err := r.pool.Exec(ctx, statement, args...)
		*deleted += tag.RowsAffected()
		if err != nil || tag.RowsAffected() < int64(r.cfg.DeleteChunk) {
			return err
		}
		_ = wait.For(ctx, time.Since(began))
		if err := r.keep(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sweep walks the plain table for ids without a time that arrived before KeepOther, and once
// after the contraction for those of version 7.
func (r *maintenanceRound) sweep(ctx context.Context) error {
	legacy := r.state.legacy && r.state.cutover == uuidAt(0)
	if r.cfg.KeepOther == 0 && !legacy || time.Since(r.swept) < sweepEvery {
		return nil
	}
	var before *int64
	if r.cfg.KeepOther > 0 {
		minute := time.UnixMilli(r.state.now).Add(-r.cfg.KeepOther).Unix() / 60
		before = &minute
	}
	var pages int64
	if err := r.pool.QueryRow(ctx, r.statements.pages).Scan(&pages); err != nil {
		return err
	}
	for page := int64(0); page < pages; page += sweepPages {
		began := time.Now()
		tag, err := r.pool.Exec(ctx, r.statements.sweep, tid(page), tid(page+sweepPages), before, legacy)
		if err != nil {
			return err
		}
		r.report.Deleted += tag.RowsAffected()
		if tag.RowsAffected() > 0 {
			_ = wait.For(ctx, time.Since(began))
		}
		if err := r.keep(ctx); err != nil {
			return err
		}
	}
	r.swept = time.Now()
	if !legacy {
		return nil
	}
	_, err := r.pool.Exec(ctx, r.statements.switchTo, r.state.mode, r.state.cutover, false, r.cfg.Width.Milliseconds())
	return err
}

// prune deletes old rows of the tables other than those of ids.
func (r *maintenanceRound) prune(ctx context.Context) error {
	if time.Since(r.pruned) < sweepEvery {
		return nil
	}
	for _, p := range []struct {
		keep    time.Duration
		deleted *int64
		name    string
	}{
		{r.cfg.KeepAttempts, &r.report.PrunedAttempts, "attempt_prune"},
		{r.cfg.KeepNotes, &r.report.PrunedNotes, "note_prune"},
		{r.cfg.KeepAudit, &r.report.PrunedAudit, "audit_prune"},
	} {
		if p.keep == 0 {
			continue
		}
		if err := r.inChunks(ctx, p.deleted, r.statements.prune[p.name], p.keep.Microseconds()); err != nil {
			return err
		}
	}
	r.pruned = time.Now()
	return nil
}

// tid returns the tuple id before the first row of a page.
func tid(page int64) string {
	return fmt.Sprintf("(%d,0)", page)
}
