package admin

import (
	"cmp"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// MessageQuery selects committed messages of the log, by all of its fields that are
// set. The zero value selects the first hundred that are retained.
type MessageQuery struct {
	// Topic and Type are patterns, in which * stands for any run of characters; Key
	// must be equal, and KeyPrefix the beginning of the key.
	// Default to any.
	Topic, Key, KeyPrefix, Type string
	// From and To bound the time of enqueueing, by the database's clock: From inclusive, To
	// exclusive. Default to everything.
	From, To time.Time
	// After is MessagePage.Next of the page before. Messages that were enqueued before that point
	// and commit later are not found on the next pages. Defaults to 0: the start, or the end if
	// Newest is set.
	After int64
	// Newest returns the newest messages first.
	// Defaults to false: the oldest first.
	Newest bool
	// OmitPayload leaves payloads and headers out.
	OmitPayload bool
	// Limit bounds the messages that are returned, 1 to 10,000. Fewer are returned if
	// they are large.
	// Defaults to 100.
	Limit int
	// Scan bounds the messages that are looked at for one page, 1 to 10,000,000.
	// Defaults to 100,000.
	Scan int
}

func (q *MessageQuery) complete() error {
	var err error
	if q.Limit, err = limitOr(q.Limit, 100, 10_000); err != nil {
		return err
	}
	q.Scan = cmp.Or(q.Scan, 100_000)
	switch {
	case q.Scan < 1 || q.Scan > 10_000_000:
		return fmt.Errorf("%w: Scan = %d: must be 1 to 10000000", ErrInvalidRequest, q.Scan)
	case q.After < 0:
		return fmt.Errorf("%w: After = %d: must not be negative", ErrInvalidRequest, q.After)
	case !q.To.IsZero() && !q.From.Before(q.To):
		return fmt.Errorf("%w: From = %s, To = %s: From must be before To", ErrInvalidRequest, q.From, q.To)
	}
	return checkTexts(map[string]string{"Topic": q.Topic, "Key": q.Key, "KeyPrefix": q.KeyPrefix, "Type": q.Type})
}

// MessagePage is a part of what a MessageQuery selects.
type MessagePage struct {
	// Records are in the requested order.
	Records []outbox.Record
	// Next is where the search goes on (MessageQuery.After); 0 at the end. An empty page is not
	// necessarily the last one.
	Next int64
}
