package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/daemonfile"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// lookEvery is the time between two checks of the daemon's probes, and the wait before a refused source is
// tried again.
const lookEvery = 300 * time.Millisecond

// relays is a roles.Daemon. It writes a configuration file, and relays as the file says.
func relays(ctx context.Context, d roles.DaemonRun) error {
	cfg, closeAll, err := configured(ctx, d)
	if err != nil {
		return err
	}
	defer closeAll()
	cfg.RetryUnusable = lookEvery
	running, err := daemon.New(cfg)
	if err != nil {
		return err
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var looking sync.WaitGroup
	looking.Go(func() { look(working, running, d, stop) })
	err = running.Run(working)
	stop(nil)
	looking.Wait()
	if dead := context.Cause(working); errors.Is(dead, errNotLive) {
		err = errors.Join(dead, err)
	}
	return err
}

// configured writes the configuration file, and returns the daemon's configuration that it reads from
// there.
func configured(ctx context.Context, d roles.DaemonRun) (daemon.Config, func(), error) {
	path, err := write(d)
	if err != nil {
		return daemon.Config{}, nil, err
	}
	return daemonfile.Read(ctx, path, daemonfile.Config{Actor: d.Name, Logger: d.Logger, Dial: d.Dial, Hooks: []outbox.Hook{d.Hook}})
}

// errNotLive ends a daemon if its liveness probe reports that only a new process helps. The driver reports
// this end, since it does not expect it.
var errNotLive = errors.New("not live")

// look acts on the probes as a supervisor does.
func look(ctx context.Context, running *daemon.Daemon, d roles.DaemonRun, stop func(error)) {
	for wait.For(ctx, lookEvery) == nil {
		if err := running.Live(); err != nil {
			stop(fmt.Errorf("%w: %w", errNotLive, err))
			return
		}
		if err := running.Ready(); errors.Is(err, driver.ErrSourceUnusable) {
			d.Refused(ctx, err)
		}
	}
}
