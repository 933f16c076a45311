// Package daemonfile reads the configuration file of leat run, for programs that run its daemon with hooks
// or connections of their own. See docs/daemon.md.
//
// Stability: young, see docs/versions.md.
package daemonfile

import (
	"context"
	"log/slog"
	"net"
	"os"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/assemble"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
)

// Config has the settings that are not in the file. The zero value is valid.
type Config struct {
	// Actor is the name in the audit for changes made by clients on this machine. Defaults to nobody.
	Actor string
	// Logger is the log of all parts. Defaults to slog.Default.
	Logger *slog.Logger
	// Dial opens connections to databases, and unencrypted ones to Kafka. Defaults to that of net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Hooks observe each relay and the maintenance of each outbox, so each must be a hook of both. Defaults
	// to none.
	Hooks []outbox.Hook
}

// Read returns the daemon that the file at path describes, without a profile. References such as
// ${env:NAME} are filled in from the environment of the process. Read connects to nothing. An error lists
// everything that is wrong in the file, with line numbers. The caller may change the returned Config before
// it calls daemon.New, and calls closeAll after the daemon has ended.
func Read(ctx context.Context, path string, cfg Config) (c daemon.Config, closeAll func(), err error) {
	file, err := settings.Read(path)
	if err != nil {
		return daemon.Config{}, nil, err
	}
	in := assemble.Input{Actor: cfg.Actor, Logger: cfg.Logger, Dial: cfg.Dial, Hooks: cfg.Hooks}
	if in.Logger == nil {
		in.Logger = slog.Default()
	}
	if in.Settings, err = file.SettingsOf("", os.LookupEnv); err != nil {
		return daemon.Config{}, nil, err
	}
	if in.Daemon, err = file.DaemonOf("", os.LookupEnv); err != nil {
		return daemon.Config{}, nil, err
	}
	in.Database = in.Settings.Database.Value
	made, err := assemble.New(ctx, in)
	if err != nil {
		return daemon.Config{}, nil, err
	}
	return made.Config, made.Close, nil
}
