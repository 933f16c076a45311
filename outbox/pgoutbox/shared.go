package pgoutbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// shared is what the outboxes of this process have in common that are on one pool, so that forty of
// them do not take forty connections for it.
type shared struct {
	line *pglease.Line // where Maintenance holds its leases, and ears listen
	ears ears          // for the commits of other processes
}

// byPool is of the whole process: outboxes that know nothing of each other are on one pool.
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
