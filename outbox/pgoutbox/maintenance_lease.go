package pgoutbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// Names of the leases. They are those of relay groups that nobody can have.
const (
	maintenanceLease = "_maintenance"
	delayedLease     = "_delayed"
)

// line is the connection on which a Maintenance holds its leases.
func (o *Outbox) line() *pglease.Line {
	return pglease.NewLine(func(ctx context.Context) (*pgx.Conn, error) {
		c, err := o.connectAs(ctx, "leat maintenance")
		if err != nil {
			return nil, err
		}
		return c.Conn, nil
	}, pglog.Close)
}

// task is work under a lease of its own, which is held on line.
func (o *Outbox) task(line *pglease.Line, lease string, ttl time.Duration) (*leasedTask, error) {
	t, err := o.leases.NewTask(o.pool, pglease.TaskConfig{
		Slot: pglease.Slot{Group: lease}, TTL: ttl, Line: line, Describe: describe,
		Logger: o.cfg.Logger.With(slog.String("lease", lease)),
	})
	return &leasedTask{Task: t, lease: lease}, err
}
