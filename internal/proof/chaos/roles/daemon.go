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

// Daemon is a daemon that relays and maintains the outbox of a role until ctx ends, and
// returns nil then. Failure points are in ctx.
type Daemon func(ctx context.Context, d DaemonRun) error

// DaemonRun is what a daemon in the place of a relay is told. Its times should be those
// of this package, as far as they can be set.
type DaemonRun struct {
	Settings

	// Logger is for what the process tells.
	Logger *slog.Logger
	// Dial opens its connections to the database and to Kafka, so that they can be cut.
	Dial Dial
	// Hook observes its relays and its maintenance.
	Hook outbox.Hook
	// Refused is called as often as the daemon finds that its source is unusable.
	Refused func(ctx context.Context, err error)
}

// daemonRun is what the daemon of this process is told.
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

// daemonEyes see what a daemon does.
type daemonEyes struct{ relayEyes }

// OnAdminMaintenance implements admin.MaintenanceHook.
func (e daemonEyes) OnAdminMaintenance(ctx context.Context, round admin.MaintenanceEvent) {
	if round.Err != nil && ctx.Err() == nil {
		e.watch.seen("maintenance tried again")
	}
}
