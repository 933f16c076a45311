package sqloutbox

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// errStartUnstated is returned if the start of a new group is not stated.
var errStartUnstated = errors.New("leat: a new group must say where it starts: at the oldest message, now, or at a time")

// begin returns where a new group begins to read.
func (s *source) begin(ctx context.Context, q sqlstore.Querier) (sqllog.Position, error) {
	start, log := s.cfg.Start, s.ob.log
	switch {
	case !start.IsStated():
		return sqllog.Position{}, errStartUnstated
	case start.Oldest: // the floor, not 0: deleted rows would be a permanent gap
		floor, err := log.Floor(ctx, q)
		if err == nil && floor == 0 {
			err = s.lookEmpty(ctx, q)
		}
		return sqllog.Position{Last: floor}, err
	}
	if err := s.lookBeside(ctx, q); err != nil {
		return sqllog.Position{}, err
	}
	end, err := log.Last(ctx, q)
	if err == nil && end == 0 {
		basis.LogEmpty(ctx, s.ob.cfg.Logger, s.cfg.Group)
	}
	if err == nil && !start.Now {
		var first int64
		var found bool
		if first, found, err = log.FirstSince(ctx, q, start.At); found {
			end = first - 1
		}
	}
	return log.Committed(ctx, q, end, err)
}

// lookEmpty logs that the log has never had a message, if that is so.
func (s *source) lookEmpty(ctx context.Context, q sqlstore.Querier) error {
	last, err := s.ob.log.Last(ctx, q)
	if err == nil && last == 0 {
		basis.LogEmpty(ctx, s.ob.cfg.Logger, s.cfg.Group)
	}
	return err
}

// lookBeside logs messages that wait for other groups, and that lie before the start of a new
// group: the new group may be one of the others, under another name.
func (s *source) lookBeside(ctx context.Context, q sqlstore.Querier) error {
	groups, err := s.ob.log.Groups(ctx, q)
	for _, g := range groups {
		if err != nil {
			return err
		}
		waiting := int64(0)
		err = s.ob.log.Unsettled(ctx, q, g.At, func(topic string) {
			if topics.MatchAny(g.Topics, topic) {
				waiting++
			}
		})
		basis.LogBeside(ctx, s.ob.cfg.Logger, s.cfg.Group, g.Name, waiting)
	}
	return err
}
