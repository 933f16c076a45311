package soak

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/chaos"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The command that a report prints has everything the run needs: the drivers of other databases and the
// daemon.
func TestCommand(t *testing.T) {
	t.Parallel()
	daemon := roles.Extras{Daemon: func(context.Context, roles.DaemonRun) error { return nil }}
	for want, o := range map[string]chaos.Options{
		"go run -C internal/proof ./cmd/soak -for 1h0m0s -seed 7 -rate 50 -controls":                         {Store: roles.Postgres, Rate: 50, Acts: chaos.Acts(roles.Postgres)},
		"go run -C internal/proof/sqltest ./cmd/soak -for 1h0m0s -seed 7 -store mysql -controls":             {Store: roles.MySQL, Acts: chaos.Acts(roles.MySQL)},
		"go run -C internal/proof/sqltest ./cmd/soak -for 1h0m0s -seed 7 -store sqlite -acts none -controls": {Store: roles.SQLite},
		"go run -C internal/proof ./cmd/soakdaemon -for 1h0m0s -seed 7 -acts none -controls":                 {Store: roles.Postgres, Extras: daemon},
		"go run -C internal/proof ./cmd/soak -for 1h0m0s -seed 7 -store dynamodb -controls":                  {Store: roles.DynamoDB},
		"go run -C internal/proof ./cmd/soak -for 1h0m0s -seed 7 -tail -acts none -controls":                 {Store: roles.Postgres, Tail: true},
	} {
		o.For, o.Seed = time.Hour, 7
		require.Equal(t, want, command(o, true))
	}
}
