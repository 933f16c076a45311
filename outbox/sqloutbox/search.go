package sqloutbox

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/internal/sqllog"
	"github.com/leat-go/leat/outbox/internal/trace"
)

// Search implements admin.Manager.
func (o operator) Search(ctx context.Context, q admin.MessageQuery) (page admin.MessagePage, err error) {
	if err = admin.Complete(&q); err != nil {
		return admin.MessagePage{}, err
	}
	err = o.log.Look(ctx, func(db sqlstore.Querier) error {
		page, err = o.search(ctx, db, q)
		return err
	})
	return page, err
}

// search reads the rows without their payloads, then fetches those that match.
func (o *Outbox) search(ctx context.Context, db sqlstore.Querier, q admin.MessageQuery) (page admin.MessagePage, err error) {
	where, after := "seq > ? ORDER BY seq", q.After
	if q.Newest {
		where = "seq > 0 AND seq < ? ORDER BY seq DESC"
		after = cmp.Or(after, math.MaxInt64)
	}
	var found []any
	looked := 0
	err = sqlstore.Each(ctx, db, func(scan sqlstore.Scanner) error {
		var r outbox.Record
		var topic, key, kind []byte
		var shard sqllog.Shard
		var created sqllog.Micros
		if err := scan(&r.Seq, &shard, &topic, &key, &kind, &created); err != nil {
			return err
		}
		r.Shard, r.Topic, r.Key, r.Type, r.CreatedAt = shard.Shard, string(topic), string(key), string(kind), created.Time()
		if looked++; shard.IsMessage() && selects(&q, &r) {
			found = append(found, r.Seq)
		}
		if len(found) == q.Limit || looked == q.Scan {
			page.Next = r.Seq
			return sqlstore.ErrEnough
		}
		return nil
	}, o.log.SQL.With("search", where+" LIMIT ?"), after, q.Scan)
	if err != nil {
		return page, err
	}
	statement, first := "page_missing", []any{""} // on any server
	if q.OmitPayload {
		statement, first = "page_bare", nil
	}
	for part := range slices.Chunk(found, sqllog.MaxRows) {
		records, err := o.log.ReadAll(ctx, db, 0, func(after int64) (string, []any) {
			where := "seq > ? AND seq IN (" + sqldialect.Places(len(part)) + ")"
			return o.log.SQL.With(statement, where), slices.Concat(first, []any{after}, part, []any{len(part)})
		})
		if err != nil {
			return page, err
		}
		page.Records = append(page.Records, records...)
	}
	slices.SortFunc(page.Records, func(a, b outbox.Record) int { return int(min(max(a.Seq-b.Seq, -1), 1)) })
	if q.Newest {
		slices.Reverse(page.Records)
	}
	return page, nil
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

// Trace implements admin.Manager.
func (o operator) Trace(ctx context.Context, q admin.TraceQuery) (found admin.Trace, err error) {
	if err = admin.Complete(&q); err != nil {
		return admin.Trace{}, err
	}
	err = o.log.Look(ctx, func(db sqlstore.Querier) error {
		found, err = o.trace(ctx, db, q)
		return err
	})
	return found, err
}

func (o *Outbox) trace(ctx context.Context, db sqlstore.Querier, q admin.TraceQuery) (found admin.Trace, err error) {
	groups, err := o.log.Groups(ctx, db)
	if err != nil {
		return found, err
	}
	var records []outbox.Record
	first, some, err := o.log.FirstSince(ctx, db, q.Since)
	if err == nil && some {
		records, err = o.byID(ctx, db, first, q)
	}
	if err != nil {
		return found, err
	}
	seqs := make([]int64, len(records))
	for i := range records {
		seqs[i] = records[i].Seq
	}
	for i := range groups {
		tx := o.log.Held(db, groups[i].Name, groups[i].Now)
		held, dead, err := heldqueue.ByID(ctx, tx, groups[i].Name, q.ID, trace.Most, seqs)
		if err != nil {
			return found, err
		}
		found.Held, found.Dead = append(found.Held, held...), append(found.Dead, dead...)
	}
	if found.Delayed, err = o.delayed(ctx, db, admin.DelayedQuery{ID: q.ID, Limit: trace.Most}); err != nil {
		return found, err
	}
	if found.Audit, err = o.audit(ctx, db, admin.AuditQuery{ID: q.ID, Since: q.Since, Newest: true, Limit: 100}); err != nil {
		return found, err
	}
	slices.Reverse(found.Audit)
	for _, r := range records {
		m := admin.TracedMessage{Record: r}
		for i := range groups {
			g := &groups[i]
			state := admin.TracePending
			switch {
			case !topics.MatchAny(g.Topics, r.Topic):
				state = admin.TraceFiltered
			case !g.At.Misses(r.Seq):
				state = trace.Settled(&found, g.Name, r.Seq, r.Seq <= g.Began)
			}
			m.Groups = append(m.Groups, admin.GroupTrace{Group: g.Name, State: state})
		}
		found.Messages = append(found.Messages, m)
	}
	return found, nil
}

// byID returns the first records of the log, from number on, that q selects.
func (o *Outbox) byID(ctx context.Context, db sqlstore.Querier, number int64, q admin.TraceQuery) (all []outbox.Record, err error) {
	for more := true; more && len(all) < trace.Most; {
		page, err := o.log.ReadRows(ctx, db, -1, o.log.SQL["by_id"], number, []byte(q.ID), q.Since.UnixMicro(), trace.Most-len(all))
		if err != nil {
			return all, err
		}
		all = append(all, page.Records...)
		if more = page.Full; more {
			number = all[len(all)-1].Seq + 1
		}
	}
	return all, nil
}
