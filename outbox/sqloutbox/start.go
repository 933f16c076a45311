package sqloutbox

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// Start is where a new group begins to read. The zero value is unstated.
type Start struct {
	stated, now bool
	at          time.Time
}

// StartOldest begins at the oldest message that is retained.
func StartOldest() Start { return Start{stated: true} }

// StartNow begins with the messages that are committed after the first relay of the group
// has begun.
func StartNow() Start { return Start{stated: true, now: true} }

// StartAt begins at the first message that was enqueued at t or later, by the database's
// clock; with StartNow, if there is none. Messages whose transaction was still open when
// the first relay of the group began are read whenever they were enqueued.
func StartAt(t time.Time) Start { return Start{stated: true, at: t} }

// errStartUnstated is returned if nobody has said where a new group begins.
var errStartUnstated = errors.New("leat: a new group must say where it starts: SourceConfig.Start is StartOldest(), StartNow() or StartAt(t)")

// begin returns where the group begins to read if it is new.
func (s *source) begin(ctx context.Context, q sqlstore.Querier) (sqllog.Position, error) {
	start, log := s.cfg.Start, s.ob.log
	switch {
	case !start.stated:
		return sqllog.Position{}, errStartUnstated
	case !start.now && start.at.IsZero(): // the floor, not 0: what was deleted would be a gap for good
		floor, err := log.Floor(ctx, q)
		return sqllog.Position{Last: floor}, err
	}
	end, err := log.Last(ctx, q)
	if err == nil && !start.now {
		var first int64
		var found bool
		if first, found, err = log.FirstSince(ctx, q, start.at); found {
			end = first - 1
		}
	}
	return log.Committed(ctx, q, end, err)
}
