package memoutbox

import (
	"context"
	"strings"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Search implements admin.Manager.
func (ob operator) Search(ctx context.Context, q admin.MessageQuery) (admin.MessagePage, error) {
	err := admin.Complete(&q)
	if err != nil {
		return admin.MessagePage{}, err
	}
	ob.mu.Lock()
	defer ob.mu.Unlock()
	ob.promote()
	all := ob.retained()
	var page admin.MessagePage
	looked := 0
	for i := range all {
		r := &all[i]
		if q.Newest {
			r = &all[len(all)-1-i]
		}
		if q.After != 0 && (r.Seq >= q.After && q.Newest || r.Seq <= q.After && !q.Newest) {
			continue
		}
		if looked++; selects(&q, r) {
			page.Records = append(page.Records, *r)
		}
		if len(page.Records) == q.Limit || looked == q.Scan {
			page.Next = r.Seq
			break
		}
	}
	for i := range page.Records {
		r := &page.Records[i]
		if r.Message = clone(&r.Message); q.OmitPayload {
			r.Payload, r.Headers = nil, nil
		}
	}
	return page, ctx.Err()
}

// selects reports whether q selects r.
func selects(q *admin.MessageQuery, r *outbox.Record) bool {
	switch {
	case q.Topic != "" && !topics.Match(q.Topic, r.Topic), q.Type != "" && !topics.Match(q.Type, r.Type):
		return false
	case q.Key != "" && q.Key != r.Key, !strings.HasPrefix(r.Key, q.KeyPrefix):
		return false
	default:
		return !r.CreatedAt.Before(q.From) && (q.To.IsZero() || r.CreatedAt.Before(q.To))
	}
}
