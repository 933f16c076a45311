package roles

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// Daemon relays and maintains the outbox of a role until ctx ends, and then returns nil. ctx carries the
// failure points.
type Daemon func(ctx context.Context, d DaemonRun) error

// DaemonRun is the configuration of a daemon that replaces a relay. Its durations should be those of this
// package, if they can be set.
type DaemonRun struct {
	Settings

	// Logger gets the log of the process.
	Logger *slog.Logger
	// Dial opens the daemon's connections to the database and to Kafka, so that the run can cut them.
	Dial Dial
	// Hook observes the daemon's relays and maintenance.
	Hook outbox.Hook
	// Refused is called each time the daemon finds its source unusable.
	Refused func(ctx context.Context, err error)
}

// daemonRun returns the configuration of this process's daemon.
func (p *process) daemonRun() (d DaemonRun, err error) {
	database, err := url.Parse(p.Database)
	if err != nil {
		return d, fmt.Errorf("parse the database's URL: %w", err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == database.Host {
			return p.connections.dial(ctx, network, address)
		}
		return p.dialKafka(ctx, network, address)
	}
	return DaemonRun{Settings: p.Settings, Logger: p.log, Dial: dial, Hook: daemonEyes{relayEyes{p}}, Refused: p.refuse}, nil
}

// daemonEyes report the events of a daemon as consequences.
type daemonEyes struct{ relayEyes }

// OnAdminMaintenance implements admin.MaintenanceHook.
func (e daemonEyes) OnAdminMaintenance(ctx context.Context, round admin.MaintenanceEvent) {
	if round.Err != nil && ctx.Err() == nil {
		e.watch.seen("maintenance tried again")
	}
}
