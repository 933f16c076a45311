// Package serve has the commands that run until they are stopped (run, relay and dash), and those for the
// file and for health.
package serve

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/assemble"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Run is run.
type Run struct{}

// Run runs what the file describes.
func (*Run) Run(d *command.Deps) error {
	if d.File == nil {
		return command.UsageError{Err: errors.New("no file: give --config or LEAT_CONFIG, or use leat relay")}
	}
	return runDaemon(d, func() (settings.Daemon, error) { return readDaemon(d) })
}

// readDaemon reads the daemon's settings from the current file.
func readDaemon(d *command.Deps) (settings.Daemon, error) {
	path, profile := d.FileAndProfile()
	file, err := settings.Read(path)
	if err != nil {
		return settings.Daemon{}, command.ConfigError(path, err)
	}
	return file.DaemonOf(profile, d.Process.LookupEnv)
}

// input returns the input of package assemble. It reads all settings again.
func input(d *command.Deps, says func() (settings.Daemon, error), logger *slog.Logger) (assemble.Input, error) {
	in := assemble.Input{Logger: logger, Actor: d.ActorHere()}
	var err error
	if in.Daemon, err = says(); err != nil {
		return in, err
	}
	if in.Settings, err = d.Say(false); err != nil {
		return in, err
	}
	if in.Daemon.NeedsDatabase() {
		in.Database, err = d.DatabaseURL()
	}
	return in, err
}

// meant is the time after the first signal from which a second one counts. Supervisors such as timeout send
// one to the process and one to its group at the same time.
const meant = time.Second

// runDaemon runs the daemon that the settings describe. The first signal to end makes it drain; another
// one, a second later or more, ends the process at once.
func runDaemon(d *command.Deps, says func() (settings.Daemon, error)) error {
	ended := make(chan os.Signal, 2)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(ended)
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)

	said, err := says()
	if err != nil {
		return err
	}
	level, logger, err := newLogger(d.Process.Stderr, said)
	if err != nil {
		return err
	}
	in, err := input(d, func() (settings.Daemon, error) { return said, nil }, logger)
	if err != nil {
		return err
	}
	made, err := assemble.New(d.Context, in)
	if err != nil {
		return err
	}
	defer made.Close()
	if err := made.Connections(d.Context, logger); err != nil {
		return err
	}
	if made.Config.NotifySocket, made.Config.Watchdog, err = daemon.FromSystemd(d.Process.LookupEnv); err != nil {
		return err
	}
	running, err := daemon.New(made.Config)
	if err != nil {
		return err
	}
	made.Runs(running)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for first := (time.Time{}); ; {
			select {
			case <-reload:
				err := running.Reload(func() error {
					return reloadDaemon(d, says, settings.Run{Settings: in.Settings, Daemon: said}, made, level, logger)
				})
				if err != nil {
					logger.ErrorContext(d.Context, "not reloaded: all goes on as it was", slog.String("error", settings.Redact(err.Error())))
				}
			case <-ended:
				if now := time.Now(); first.IsZero() {
					first = now
				} else if now.Sub(first) >= meant {
					logger.ErrorContext(d.Context, "a second signal: ends without draining")
					d.Process.Exit(command.ExitFailed)
					return
				}
			case <-done:
				return
			}
		}
	}()
	return running.Run(d.Context)
}

// reloadDaemon replaces the log level, certificates, passwords and sign-ins. It logs the other settings
// that differ from runs, the settings of the start.
func reloadDaemon(d *command.Deps, says func() (settings.Daemon, error), runs settings.Run, made *assemble.Assembly, level *slog.LevelVar, logger *slog.Logger) error {
	in, err := input(d, says, logger)
	if err != nil {
		return err
	}
	to, err := logLevel(in.Daemon)
	if err != nil {
		return err
	}
	if err := assemble.Check(d.Context, in); err != nil {
		return err
	}
	if err := made.Reload(in); err != nil {
		return err
	}
	level.Set(to)
	if left := runs.NeedRestart(settings.Run{Settings: in.Settings, Daemon: in.Daemon}); len(left) > 0 {
		logger.WarnContext(d.Context, "reloaded the level of the log, certificates, passwords and sign-ins; the rest of what was changed needs a restart",
			slog.Any("needs_restart", left))
		return nil
	}
	logger.InfoContext(d.Context, "reloaded the level of the log, certificates, passwords and sign-ins; nothing else was changed")
	return nil
}
