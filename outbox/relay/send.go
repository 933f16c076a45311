package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
)

// errSinkContract is what a sink's answer of the wrong length is treated as.
var errSinkContract = errors.New("leat: sink returned a wrong number of results")

// send delivers pages one at a time, in order. A page is begun only while stop
// lasts and enough is left of the lease.
func (t *term) send(stop, work context.Context) error {
	for page := range t.pages {
		if stop.Err() != nil {
			continue // let the reader end; what was not sent stays unsettled
		}
		err := failpoint.Inject(work, failpoint.RelayBetweenPages)
		if err == nil {
			err = t.deliver(stop, work, page)
		}
		if err != nil {
			return err
		}
		select {
		case t.settled <- struct{}{}:
		default:
		}
	}
	return nil
}

// deliver sends page until the sink has acknowledged all of it, settling what
// lies before the first failure as it goes. Only what failed is sent again, in
// the same order, so that within a key nothing is sent past an unsettled record
// (rule R1).
func (t *term) deliver(stop, work context.Context, page Page) error {
	pending := pendingOf(page)
	done := 0
	for {
		err := t.fence.await(work, t.relay.cfg.PublishTimeout)
		if err != nil {
			return err
		}
		pending, err = t.sendOnce(work, pending)
		settled := len(page.Records)
		if len(pending.records) > 0 {
			settled = pending.index[0]
		}
		if settled > done {
			t.retry.reset()
			if aerr := t.advance(work, page, settled); aerr != nil {
				return t.fault(work, "advance", aerr)
			}
			t.acked.Add(int64(settled - done))
			done = settled
		}
		if err == nil {
			return nil
		}
		if work.Err() != nil {
			return context.Cause(work)
		}
		t.relay.onError(work, "send", err)
		if !pause(stop, t.retry.next()) {
			return nil
		}
	}
}

// advance settles the first n records of page.
func (t *term) advance(work context.Context, page Page, n int) error {
	if err := failpoint.Inject(work, failpoint.RelayAckedBeforeAdvance); err != nil {
		return err
	}
	return t.session.Advance(work, page, n)
}

// pending is what a page still has to send: records with their places in it.
type pending struct {
	records []outbox.Record
	index   []int // nil while it is the whole page
}

func pendingOf(p Page) pending {
	return pending{records: p.Records}
}

// sendOnce calls the sink once. It returns what is left to send, with the
// places of it in the page, and the error of its first record.
func (t *term) sendOnce(work context.Context, p pending) (pending, error) {
	ctx, cancel := context.WithTimeout(work, t.relay.cfg.PublishTimeout)
	defer cancel()
	began := time.Now()
	results := t.relay.sink.Send(ctx, p.records)
	if err := failpoint.Inject(work, failpoint.RelaySentNotAcked); err != nil {
		return p.rest(func(int) bool { return true }), err
	}
	if len(results) != len(p.records) {
		err := fmt.Errorf("%w: %d for %d records", errSinkContract, len(results), len(p.records))
		return p.rest(func(int) bool { return true }), err
	}
	t.relay.onPublish(ctx, p.records, results, time.Since(began))
	var first error
	for i := range results {
		if first = results[i].Err; first != nil {
			t.relay.log.DebugContext(ctx, "record not delivered",
				slog.String("id", p.records[i].ID), slog.Int64("seq", p.records[i].Seq), slog.Any("error", first))
			break
		}
	}
	if first == nil {
		return pending{}, nil
	}
	return p.rest(func(i int) bool { return results[i].Err != nil }), first
}

// rest returns the part of p that keep says, with its places in the page.
func (p pending) rest(keep func(int) bool) pending {
	var left pending
	for i, r := range p.records {
		if !keep(i) {
			continue
		}
		left.records = append(left.records, r)
		if p.index != nil {
			left.index = append(left.index, p.index[i])
		} else {
			left.index = append(left.index, i)
		}
	}
	return left
}
