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

const (
	testGroup = "default"
	longTTL   = time.Minute
	// mostRecords bounds what a check reads, so that a source that repeats itself
	// for ever is caught.
	mostRecords = 20_000
)

var (
	// errWaitingIdle is what a Waiting page is when all pages have been settled.
	errWaitingIdle = errors.New("read: page is Waiting although every page was settled")

	errNoEnd = fmt.Errorf("read: no end after %d records", mostRecords)
)

// reader is a session that checks every page it reads.
type reader struct {
	driver.Session
}

// acquire starts a session of testGroup.
func (tr *trial) acquire(ctx context.Context) (*reader, error) {
	return acquireFrom(ctx, tr.Source(testGroup))
}

func acquireFrom(ctx context.Context, src driver.Source) (*reader, error) {
	s, err := src.Acquire(ctx, longTTL)
	if err != nil {
		return nil, fmt.Errorf("acquire: %w", err)
	}
	return &reader{Session: s}, nil
}

// takeOver lets the lease of old run out and starts a session in its place.
func (tr *trial) takeOver(ctx context.Context, old *reader) (*reader, error) {
	return takeOverFrom(ctx, tr.Source(testGroup), old)
}

func takeOverFrom(ctx context.Context, src driver.Source, old *reader) (*reader, error) {
	if err := old.Renew(ctx, time.Millisecond); err != nil {
		return nil, fmt.Errorf("renew for a millisecond: %w", err)
	}
	for {
		r, err := acquireFrom(ctx, src)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("a lease renewed for a millisecond is still held: %w", ctx.Err())
		case !errors.Is(err, driver.ErrLeaseHeld):
			return r, err
		}
		_ = wait.For(ctx, 2*time.Millisecond) // the next round sees the error
	}
}

// hand releases old and starts the next session at once.
func (tr *trial) hand(ctx context.Context, old *reader) (*reader, error) {
	return handFrom(ctx, tr.Source(testGroup), old)
}

func handFrom(ctx context.Context, src driver.Source, old *reader) (*reader, error) {
	if err := old.Release(ctx); err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return acquireFrom(ctx, src)
}

// page reads one page and checks its form.
func (r *reader) page(ctx context.Context, limit int) (driver.Page, error) {
	p, err := r.Read(ctx, limit)
	switch {
	case err != nil:
		return p, fmt.Errorf("read: %w", err)
	case len(p.Records) > limit:
		return p, fmt.Errorf("read: %d records in a page of at most %d", len(p.Records), limit)
	case p.Waiting && len(p.Records) > 0:
		return p, fmt.Errorf("read: a page of %d records is Waiting", len(p.Records))
	}
	if !ascends(p) {
		return p, fmt.Errorf("read: page does not ascend in Seq: %s", describe(p.Records))
	}
	return p, nil
}

// ascends reports whether the records of p ascend in Seq; of an early page, those of each
// key.
func ascends(p driver.Page) bool {
	last := make(map[driver.Key]int64)
	for i := range p.Records {
		r := &p.Records[i]
		of := driver.Key{Topic: r.Topic, Key: r.Key}
		if p.Early && r.Key == "" {
			continue
		}
		if !p.Early {
			of = driver.Key{}
		}
		if r.Seq <= last[of] {
			return false
		}
		last[of] = r.Seq
	}
	return true
}

// expectPage reads one page and expects these records in it.
func (r *reader) expectPage(ctx context.Context, limit int, names ...string) (driver.Page, error) {
	p, err := r.page(ctx, limit)
	if err != nil {
		return p, err
	}
	return p, expect(p.Records, names...)
}

// settle advances over the first n records of p.
func (r *reader) settle(ctx context.Context, p driver.Page, n int) error {
	if err := r.Advance(ctx, p, n); err != nil {
		return fmt.Errorf("advance by %d of %d: %w", n, len(p.Records), err)
	}
	return nil
}

// drain reads to the end, in pages of limit, each settled before the next.
func (r *reader) drain(ctx context.Context, limit int) ([]outbox.Record, error) {
	var all []outbox.Record
	for {
		p, err := r.page(ctx, limit)
		switch {
		case err != nil:
			return all, err
		case p.Waiting:
			return all, errWaitingIdle
		case len(p.Records) == 0:
			return all, nil
		}
		all = append(all, p.Records...)
		if len(all) > mostRecords {
			return all, errNoEnd
		}
		if err := r.settle(ctx, p, len(p.Records)); err != nil {
			return all, err
		}
	}
}

// expectDrain drains and expects exactly these records, in this order.
func (r *reader) expectDrain(ctx context.Context, limit int, names ...string) error {
	got, err := r.drain(ctx, limit)
	if err != nil {
		return err
	}
	return expect(got, names...)
}

// readAll returns everything that testGroup has not settled yet, in a session
// of its own.
func (tr *trial) readAll(ctx context.Context) ([]outbox.Record, error) {
	r, err := tr.acquire(ctx)
	if err != nil {
		return nil, err
	}
	all, err := r.drain(ctx, 100)
	if err != nil {
		return nil, err
	}
	return all, r.Release(ctx)
}

// expectAll is readAll of exactly these records, in this order.
func (tr *trial) expectAll(ctx context.Context, names ...string) error {
	got, err := tr.readAll(ctx)
	if err != nil {
		return err
	}
	return expect(got, names...)
}
