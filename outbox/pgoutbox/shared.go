package pgoutbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// shared is the state that the outboxes of this process on one pool share, so that forty of them
// do not need forty connections.
type shared struct {
	line *pglease.Line // where Maintenance holds its leases, and ears listen
	ears ears          // for the commits of other processes
}

// byPool is global in the process: outboxes on one pool do not know each other.
var byPool pgpin.ByPool[shared] //nolint:gochecknoglobals // see above

// newShared returns what outboxes share. It connects as o does.
func (o *Outbox) newShared() *shared {
	return &shared{line: pglease.NewLine(func(ctx context.Context) (*pgx.Conn, error) {
		c, err := o.connectAs(ctx, "leat shared")
		if err != nil {
			return nil, err
		}
		return c.Conn, nil
	}, pglog.Close)}
}
