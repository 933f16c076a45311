package sqloutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// noShare is the whole group.
var noShare heldqueue.Share //nolint:gochecknoglobals // a constant that Go cannot express as one

// countUpTo is the limit up to which each kind is counted, as in the statements; there is no
// estimate beyond it.
const countUpTo = 10_000

// Stats implements admin.Outbox.
func (o operator) Stats(ctx context.Context) (s admin.Stats, err error) {
	err = o.log.Look(ctx, func(q sqlstore.Querier) error {
		if s.LastSeq, err = o.log.Last(ctx, q); err != nil {
			return err
		}
		if o.log.Dialect.OneWriter {
			err = q.QueryRowContext(ctx, o.log.SQL["size_file"]).Scan(&s.Rows)
		} else {
			err = q.QueryRowContext(ctx, o.log.SQL["size"], o.cfg.Table).Scan(&s.Rows, &s.Bytes)
		}
		if err != nil {
			return err
		}
		if err := q.QueryRowContext(ctx, o.log.SQL["delayed_count"]).Scan(&s.Delayed); err != nil {
			return err
		}
		s.DelayedEstimated = s.Delayed >= countUpTo
		groups, err := o.log.Groups(ctx, q)
		for i := range groups {
			if err == nil {
				var g admin.GroupStats
				g, err = o.groupStats(ctx, q, &groups[i])
				s.Groups = append(s.Groups, g)
			}
		}
		return err
	})
	return s, err
}

func (o *Outbox) groupStats(ctx context.Context, q sqlstore.Querier, g *sqllog.GroupState) (admin.GroupStats, error) {
	s, name := admin.GroupStats{Name: g.Name}, []byte(g.Name)
	err := sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
		var state heldqueue.State
		var n int
		var oldest int64
		if err := scan(&state, &n, &oldest); err != nil {
			return err
		}
		s.Estimated = s.Estimated || n >= countUpTo
		switch state {
		case heldqueue.Dead:
			s.Dead = n
			return nil
		case heldqueue.Retry:
			if s.Retrying = n; n > 0 {
				s.OldestRetried = max(0, g.Now.Sub(sqlstore.Time(oldest)))
			}
		case heldqueue.Parked:
			s.Parked = n
		case heldqueue.Wait:
			if n > 0 {
				s.OldestWaiting = max(0, g.Now.Sub(sqlstore.Time(oldest)))
			}
		}
		s.Held += n
		return nil
	}, o.log.SQL["held_states"], name, name, name, name)
	if err == nil {
		s.Out, err = o.log.Outages(ctx, q, g)
	}
	if err != nil {
		return s, err
	}
	slot := admin.SlotStats{Owner: g.Owner, Epoch: g.Epoch, LeaseLeft: max(0, g.Left)}
	if err := o.log.CheckPosition(ctx, q, g.At); err != nil {
		slot.Problem = err.Error()
		g.At = sqllog.Position{} // it has settled nothing
	}
	oldest, err := o.backlog(ctx, q, g, &slot)
	if !oldest.IsZero() {
		slot.Lag = max(0, g.Now.Sub(oldest))
	}
	s.Slots = []admin.SlotStats{slot}
	return s, err
}

// exactBacklog is the number up to which unsettled messages are counted one by one.
const exactBacklog = 1000

// backlog counts the messages that a group has not settled, and returns when the oldest was
// enqueued.
func (o *Outbox) backlog(ctx context.Context, q sqlstore.Querier, g *sqllog.GroupState, slot *admin.SlotStats) (oldest time.Time, err error) {
	looked := 0
	count := func(query string, args ...any) error {
		return sqlstore.Each(ctx, q, func(scan sqlstore.Scanner) error {
			var seq int64
			var created sqllog.Micros
			var shard sqllog.Shard
			var topic []byte
			if err := scan(&seq, &shard, &topic, &created); err != nil {
				return err
			}
			looked++
			if at := created.Time(); shard.IsMessage() && topics.MatchAny(g.Topics, string(topic)) {
				slot.Backlog++
				if oldest.IsZero() || at.Before(oldest) {
					oldest = at
				}
			}
			return nil
		}, query, args...)
	}
	if len(g.At.Gaps) > 0 {
		where, args := sqllog.Within(g.At.Gaps[:min(len(g.At.Gaps), sqllog.MaxSpans)])
		if err := count(o.log.SQL.With("backlog", where), append(args, exactBacklog)...); err != nil {
			return oldest, err
		}
	}
	looked = 0
	if err := count(o.log.SQL.With("backlog", "seq > ?"), g.At.Last, exactBacklog); err != nil || looked < exactBacklog {
		return oldest, err
	}
	last, err := o.log.Last(ctx, q)
	if all := last - g.At.Last; slot.Backlog > 0 && all > exactBacklog {
		slot.Backlog = slot.Backlog * all / exactBacklog // the same share of them as of the first
	}
	return oldest, err
}
