package sqloutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// noShare is all of a group.
var noShare heldqueue.Share //nolint:gochecknoglobals // a constant that Go cannot express as one

// Stats implements admin.Outbox. Rows and Bytes are what the database estimates; on
// SQLite, Rows is what lies between the oldest and the newest number, and Bytes is 0.
func (o *Outbox) Stats(ctx context.Context) (s admin.Stats, err error) {
	err = o.look(ctx, func(q querier) error {
		if s.LastSeq, err = o.last(ctx, q); err != nil {
			return err
		}
		if o.dialect.OneWriter {
			err = q.QueryRowContext(ctx, o.sql["size_file"]).Scan(&s.Rows)
		} else {
			err = q.QueryRowContext(ctx, o.sql["size"], o.cfg.Table).Scan(&s.Rows, &s.Bytes)
		}
		if err != nil {
			return err
		}
		if err := q.QueryRowContext(ctx, o.sql["delayed_count"]).Scan(&s.Delayed); err != nil {
			return err
		}
		groups, err := o.groups(ctx, q)
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

func (o *Outbox) groupStats(ctx context.Context, q querier, g *groupState) (admin.GroupStats, error) {
	s := admin.GroupStats{Name: g.name}
	err := each(ctx, q, func(scan scanner) error {
		var state heldqueue.State
		var n int
		var oldest int64
		if err := scan(&state, &n, &oldest); err != nil {
			return err
		}
		switch state {
		case heldqueue.Dead:
			s.Dead = n
			return nil
		case heldqueue.Retry:
			s.Retrying, s.OldestRetried = n, max(0, g.now.Sub(micros(oldest)))
		case heldqueue.Parked:
			s.Parked = n
		case heldqueue.Wait:
		}
		s.Held += n
		return nil
	}, o.sql["held_states"], []byte(g.name))
	if err != nil {
		return s, err
	}
	slot := admin.SlotStats{Owner: g.owner, Epoch: g.epoch, LeaseLeft: max(0, g.left)}
	if err := o.checkAhead(ctx, q, g.at); err != nil {
		slot.Problem = err.Error()
	}
	oldest, err := o.backlog(ctx, q, g, &slot)
	if !oldest.IsZero() {
		slot.Lag = max(0, g.now.Sub(oldest))
	}
	s.Slots = []admin.SlotStats{slot}
	return s, err
}

// exactBacklog is up to where messages that are not settled are counted one by one.
const exactBacklog = 1000

// backlog counts what a group has not settled, and returns when the oldest was enqueued.
func (o *Outbox) backlog(ctx context.Context, q querier, g *groupState, slot *admin.SlotStats) (oldest time.Time, err error) {
	looked := 0
	count := func(query string, args ...any) error {
		return each(ctx, q, func(scan scanner) error {
			var seq, created int64
			var shard int16
			var topic []byte
			if err := scan(&seq, &shard, &topic, &created); err != nil {
				return err
			}
			looked++
			if at := micros(created); shard >= 0 && topics.MatchAny(g.topics, string(topic)) {
				slot.Backlog++
				if oldest.IsZero() || at.Before(oldest) {
					oldest = at
				}
			}
			return nil
		}, query, args...)
	}
	if len(g.at.gaps) > 0 {
		where, args := within(g.at.gaps[:min(len(g.at.gaps), maxSpans)])
		if err := count(o.sql.with("backlog", where), append(args, exactBacklog)...); err != nil {
			return oldest, err
		}
	}
	looked = 0
	if err := count(o.sql.with("backlog", "seq > ?"), g.at.last, exactBacklog); err != nil || looked < exactBacklog {
		return oldest, err
	}
	last, err := o.last(ctx, q)
	if all := last - g.at.last; slot.Backlog > 0 && all > exactBacklog {
		slot.Backlog = slot.Backlog * all / exactBacklog // as many of them as of the first
	}
	return oldest, err
}
