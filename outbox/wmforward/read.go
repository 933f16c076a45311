package wmforward

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

var errNotWhole = errors.New("leat: the window was not read to its end")

// Read implements driver.Session: the next page of the window; past its end, once
// all of it is settled, the first page of the next window, if a probe finds that
// there is something in one. It opens one window at most: that one's snapshot was
// taken after Read was called, so if it is empty there is nothing to read.
func (n *session) Read(ctx context.Context, limit int) (driver.Page, error) {
	if limit < 1 {
		return driver.Page{}, outbox.ConfigError("limit", limit, "must be positive")
	}
	n.reading.Lock()
	defer n.reading.Unlock()
	page, err := n.readWindow(ctx, limit)
	if err != nil || len(page.Records) > 0 {
		return page, unusable(err)
	}
	n.mu.Lock()
	waiting := n.unread > 0
	n.mu.Unlock()
	if waiting {
		return driver.Page{Waiting: true}, nil
	}
	opened, err := n.openNext(ctx)
	if err != nil || !opened {
		return driver.Page{}, unusable(err)
	}
	page, err = n.readWindow(ctx, limit)
	return page, unusable(err)
}

// openNext opens the next window if there is something in it, else stores the
// position.
func (n *session) openNext(ctx context.Context) (bool, error) {
	fresh, err := n.probe(ctx)
	if err != nil {
		return false, err
	}
	if !fresh {
		return false, n.flush(ctx)
	}
	if !n.rest.whole || !n.rest.read() {
		return false, errNotWhole
	}
	if err := failpoint.Inject(ctx, failpoint.RelayBeforeFinishWindow); err != nil {
		return false, err
	}
	w, err := n.source.window.Open(ctx, n.reader, n.lease, n.window, 0)
	if err != nil {
		return false, err
	}
	if err := failpoint.Inject(ctx, failpoint.RelayWindowOpened); err != nil {
		return false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.enter(w)
	n.opened++
	return true, nil
}

// probe says whether rows are visible that no window up to this one holds.
func (n *session) probe(ctx context.Context) (bool, error) {
	var standby, fresh bool
	err := n.reader.QueryRow(ctx, n.source.sql.probe, n.window.Target.Text).Scan(&standby, &fresh)
	if err == nil && standby {
		err = pgwindow.ErrStandby
	}
	return fresh, err
}

// readWindow returns the next rows of the window, none at its end. Rows that
// were deleted since the window was listed are passed over.
func (n *session) readWindow(ctx context.Context, limit int) (driver.Page, error) {
	for {
		if n.rest.read() {
			if n.rest.whole {
				return driver.Page{}, nil
			}
			if err := n.list(ctx); err != nil {
				n.rest.reset() // half a list is none
				return driver.Page{}, err
			}
			continue
		}
		records, taken, err := n.query(ctx, limit)
		if err != nil {
			return driver.Page{}, err
		}
		n.rest.at += taken
		n.read = n.rest.numbers[n.rest.at-1]
		if len(records) > 0 {
			return n.hand(records), nil
		}
	}
}

// hand returns the page that ends where the window was read to.
func (n *session) hand(records []outbox.Record) driver.Page {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unread++
	final := n.rest.whole && n.rest.read()
	return driver.Page{Records: records, Round: n.opened, Cursor: cursor{window: n.window.No, last: n.read, final: final}}
}
