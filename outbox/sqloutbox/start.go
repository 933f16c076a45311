package sqloutbox

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// errStartUnstated is returned if nobody has said where a new group begins.
var errStartUnstated = errors.New("leat: a new group must say where it starts, by start in the file or SourceConfig.Start: the oldest message, now, or a time")

// begin returns where the group begins to read if it is new.
func (s *source) begin(ctx context.Context, q sqlstore.Querier) (sqllog.Position, error) {
	start, log := s.cfg.Start, s.ob.log
	switch {
	case !start.IsStated():
		return sqllog.Position{}, errStartUnstated
	case start.Oldest: // the floor, not 0: what was deleted would be a gap for good
		floor, err := log.Floor(ctx, q)
		return sqllog.Position{Last: floor}, err
	}
	end, err := log.Last(ctx, q)
	if err == nil && !start.Now {
		var first int64
		var found bool
		if first, found, err = log.FirstSince(ctx, q, start.At); found {
			end = first - 1
		}
	}
	return log.Committed(ctx, q, end, err)
}
