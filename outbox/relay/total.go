package relay

import (
	"context"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
)

// deliverInTotalOrder sends the records of page one after another, whatever
// their keys, and stays at one that fails until it does not. What lies before it
// is settled then, so that another relay resumes there.
func (t *term) deliverInTotalOrder(stop, work context.Context, page driver.Page) error {
	done, settled := 0, 0
	for done < len(page.Records) && stop.Err() == nil {
		results, _, err := t.call(stop, work, page.Records[done:done+1])
		if work.Err() != nil {
			return context.Cause(work)
		}
		if err == nil {
			err = results[0].Err
		}
		if err == nil {
			done++
			t.retry.Reset()
			continue
		}
		if serr := t.settleUpTo(work, page, settled, done); serr != nil {
			return serr
		}
		settled = done
		t.inHand(&page.Records[done])
		t.relay.onError(work, "send", err)
		if !wait.Full(stop, t.retry.Next()) {
			return nil
		}
	}
	return t.settleUpTo(work, page, settled, done)
}

// settleUpTo settles records from to n of page.
func (t *term) settleUpTo(work context.Context, page driver.Page, from, n int) error {
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
