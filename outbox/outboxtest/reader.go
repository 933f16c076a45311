package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

const (
	testGroup = "default"
	longTTL   = time.Minute
	// mostRecords bounds what a check reads, to catch a source that repeats itself for ever.
	mostRecords = 20_000
)

var (
	// errWaitingIdle is returned for a Waiting page when all pages have been settled.
	errWaitingIdle = errors.New("read: page is Waiting although every page was settled")

	errNoEnd = fmt.Errorf("read: no end after %d records", mostRecords)
)

// reader is a session that checks every page it reads.
type reader struct {
	driver.Session
}

// acquire starts a session of testGroup.
func (tr *trial) acquire(ctx context.Context) *reader {
	return acquireFrom(ctx, tr.Source(testGroup))
}

func acquireFrom(ctx context.Context, src driver.Source) *reader {
	s, err := src.Acquire(ctx, longTTL)
	fail.If(err, "acquire")
	return &reader{Session: s}
}

// takeOver waits until the lease of old has expired and starts a session in its place.
func (tr *trial) takeOver(ctx context.Context, old *reader) *reader {
	return takeOverFrom(ctx, tr.Source(testGroup), old)
}

func takeOverFrom(ctx context.Context, src driver.Source, old *reader) *reader {
	fail.If(old.Renew(ctx, time.Millisecond), "renew for a millisecond")
	for {
		s, err := src.Acquire(ctx, longTTL)
		fail.If(ctx.Err(), "a lease renewed for a millisecond is still held")
		if !errors.Is(err, driver.ErrLeaseHeld) {
			fail.If(err, "acquire")
			return &reader{Session: s}
		}
		_ = wait.For(ctx, 2*time.Millisecond) // the next round sees the error
	}
}

// hand releases old and starts the next session at once.
func (tr *trial) hand(ctx context.Context, old *reader) *reader {
	return handFrom(ctx, tr.Source(testGroup), old)
}

func handFrom(ctx context.Context, src driver.Source, old *reader) *reader {
	fail.If(old.Release(ctx), "release")
	return acquireFrom(ctx, src)
}

// page reads one page and checks its form.
func (r *reader) page(ctx context.Context, limit int) driver.Page {
	p, err := r.tryPage(ctx, limit)
	fail.If(err)
	return p
}

// tryPage is page for a Read that may fail.
func (r *reader) tryPage(ctx context.Context, limit int) (driver.Page, error) {
	p, err := r.Read(ctx, limit)
	if err != nil {
		return p, fmt.Errorf("read: %w", err)
	}
	switch {
	case len(p.Records) > limit:
		fail.With("read: %d records in a page of at most %d", len(p.Records), limit)
	case p.Waiting && len(p.Records) > 0:
		fail.With("read: a page of %d records is Waiting", len(p.Records))
	case !ascends(p):
		fail.With("read: page does not ascend in Seq: %s", describe(p.Records))
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
func (r *reader) expectPage(ctx context.Context, limit int, names ...string) driver.Page {
	p := r.page(ctx, limit)
	expect(p.Records, names...)
	return p
}

// settle advances over the first n records of p.
func (r *reader) settle(ctx context.Context, p driver.Page, n int) {
	fail.If(r.Advance(ctx, p, n), fmt.Sprintf("advance by %d of %d", n, len(p.Records)))
}

// drain reads to the end, in pages of limit, each settled before the next.
func (r *reader) drain(ctx context.Context, limit int) []outbox.Record {
	var all []outbox.Record
	for {
		p := r.page(ctx, limit)
		switch {
		case p.Waiting:
			fail.Now(errWaitingIdle)
		case len(p.Records) == 0:
			return all
		}
		all = append(all, p.Records...)
		if len(all) > mostRecords {
			fail.Now(errNoEnd)
		}
		r.settle(ctx, p, len(p.Records))
	}
}

// expectDrain drains and expects exactly these records, in this order.
func (r *reader) expectDrain(ctx context.Context, limit int, names ...string) {
	expect(r.drain(ctx, limit), names...)
}

// readAll returns everything that testGroup has not settled yet, in a session
// of its own.
func (tr *trial) readAll(ctx context.Context) []outbox.Record {
	r := tr.acquire(ctx)
	all := r.drain(ctx, 100)
	fail.If(r.Release(ctx))
	return all
}

// expectAll is readAll of exactly these records, in this order.
func (tr *trial) expectAll(ctx context.Context, names ...string) {
	expect(tr.readAll(ctx), names...)
}
