package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func writerChecks() []Check {
	return []Check{
		{Name: "O2_ConcurrentWriters", run: concurrentWriters(false)},
		{
			Name: "O5_KeyOrderIsCommitOrder", run: concurrentWriters(true),
			skip: func(f Features) bool { return f.NoKeyOrder },
		},
	}
}

// concurrentWriters reads, in small pages and under changing leases, while a
// storm writes and one transaction that drew its numbers before all others is
// still open. Nothing fails, so each committed record is read exactly once.
func concurrentWriters(ordered bool) func(context.Context, *trial) error {
	return func(ctx context.Context, tr *trial) error {
		commitLate, err := tr.openLate(ctx, named(numbered("late", 3)...)...)
		if err != nil {
			return err
		}
		writers := newStorm(tr)
		done := writers.start(ctx, 1)
		got, err := tr.follow(ctx, done)
		if err != nil {
			return err
		}
		if err := writers.err(); err != nil {
			return err
		}
		if err := expectSet(got, writers.names()); err != nil {
			return fmt.Errorf("with a transaction open since before: %w", err)
		}
		if err := commitLate(ctx); err != nil {
			return err
		}
		if err := tr.expectAll(ctx, numbered("late", 3)...); err != nil {
			return fmt.Errorf("after the late commit: %w", err)
		}
		if !ordered {
			return nil
		}
		return errors.Join(expectOrder(got), writers.inCommitOrder(got))
	}
}

// follow reads until writers is closed and nothing is left. It reads up to three
// pages ahead of what it settles, and passes the lease on now and then.
func (tr *trial) follow(ctx context.Context, writers <-chan struct{}) ([]outbox.Record, error) {
	r, err := tr.acquire(ctx)
	if err != nil {
		return nil, err
	}
	var got []outbox.Record
	var ahead []driver.Page
	for len(got) < mostRecords {
		finished := closed(writers)
		p, err := r.page(ctx, 7)
		if err != nil {
			return got, err
		}
		if len(p.Records) > 0 {
			got = append(got, p.Records...)
			if ahead, err = r.settleAll(ctx, append(ahead, p), 3); err != nil {
				return got, err
			}
			continue
		}
		if p.Waiting && len(ahead) == 0 {
			return got, errWaitingIdle
		}
		if ahead, err = r.settleAll(ctx, ahead, 0); err != nil {
			return got, err
		}
		switch {
		case p.Waiting:
			continue
		case finished:
			return got, r.Release(ctx)
		}
		if r, err = tr.hand(ctx, r); err != nil {
			return got, err
		}
		if err := wait.For(ctx, time.Millisecond); err != nil {
			return got, err
		}
	}
	return got, errNoEnd
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// settleAll settles pages, the oldest first, until keep are left.
func (r *reader) settleAll(ctx context.Context, pages []driver.Page, keep int) ([]driver.Page, error) {
	for len(pages) > keep {
		if err := r.settle(ctx, pages[0], len(pages[0].Records)); err != nil {
			return pages, err
		}
		pages = pages[1:]
	}
	return pages, nil
}
