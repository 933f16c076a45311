package relay

import (
	"context"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

// deliverInTotalOrder sends the records of page one after another, whatever
// their keys, and stays at one that fails until it does not. What lies before it
// is settled then, so that another relay resumes there.
func (t *term) deliverInTotalOrder(stop, work context.Context, page Page) error {
	size := 1
	if sink, ok := t.relay.sink.(TotalOrderer); ok && sink.TotalOrder() {
		size = len(page.Records)
	}
	done, settled := 0, 0
	for done < len(page.Records) && stop.Err() == nil {
		records := page.Records[done:min(done+size, len(page.Records))]
		results, _, err := t.call(stop, work, records)
		if work.Err() != nil {
			return context.Cause(work)
		}
		good := prefix(results)
		done += good
		if good > 0 {
			t.retry.reset()
		}
		if err == nil && good == len(records) {
			continue
		}
		if err == nil {
			err = results[good].Err
		}
		if serr := t.settleUpTo(work, page, settled, done); serr != nil {
			return serr
		}
		settled = done
		t.inHand(&page.Records[done])
		t.relay.onError(work, "send", err)
		if wait.For(stop, t.retry.next()) != nil {
			return nil
		}
	}
	return t.settleUpTo(work, page, settled, done)
}

// prefix is the number of results before the first failure.
func prefix(results []outbox.Result) int {
	for i := range results {
		if results[i].Err != nil {
			return i
		}
	}
	return len(results)
}

// settleUpTo settles records from to n of page.
func (t *term) settleUpTo(work context.Context, page Page, from, n int) error {
	if n == from {
		return nil
	}
	if err := t.advance(work, page, n); err != nil {
		return t.fault(work, "advance", err)
	}
	t.acked.Add(int64(n - from))
	t.progress(work, page.Records[from:n], 0)
	return nil
}
