package pgoutbox

import (
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Names of the leases, which relay groups cannot have.
const (
	maintenanceLease = "_maintenance"
	delayedLease     = "_delayed"
)

// task returns a task of maintenance that works under its own lease.
func (o *Outbox) task(lease string, ttl time.Duration) (*leasedTask, error) {
	t, err := o.leases.NewTask(o.pool, pglease.TaskConfig{
		Slot: pglease.Slot{Group: lease}, TTL: ttl, Line: o.shared.line, Describe: describe,
		Logger: o.cfg.Logger.With(slog.String("lease", lease)),
	})
	return &leasedTask{Task: t, lease: lease}, err
}
