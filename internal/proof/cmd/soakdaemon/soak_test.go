package main

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eyes observes relays and maintenance like the hooks of a role.
type eyes struct{}

func (eyes) OnRelaySend(context.Context, relay.SendEvent)               {}
func (eyes) OnAdminMaintenance(context.Context, admin.MaintenanceEvent) {}

// The generated file is a valid configuration of leat run for both relays of a run, and has the durations
// that the driver relies on.
func TestConfigured(t *testing.T) {
	t.Parallel()
	for role, action := range map[string]relay.Action{roles.Relay: relay.Park, roles.Exact: relay.Block} {
		d := roles.DaemonRun{
			Settings: roles.Settings{
				Name: role + "-1", Role: role, Database: "postgres://leat@127.0.0.1:1/bank?sslmode=disable", Brokers: []string{"127.0.0.1:1"}, Dir: t.TempDir(),
			},
			Logger: slog.New(slog.DiscardHandler), Hook: eyes{},
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed },
		}
		cfg, closeAll, err := configured(t.Context(), d)
		require.NoError(t, err, role)
		t.Cleanup(closeAll)
		require.Len(t, cfg.Relays, 1)
		require.Len(t, cfg.Maintenance, 1)
		r := cfg.Relays[0].Config
		require.Equal(t, roles.RelayLease, r.Lease)
		require.Equal(t, roles.PublishTimeout, r.PublishTimeout)
		require.Equal(t, action, r.Policies[0].Action)
		require.Contains(t, r.Hooks, eyes{})
		require.ErrorIs(t, cfg.Databases[0].Ping(t.Context()), net.ErrClosed, "it is dialled in the role's way")
	}
}
