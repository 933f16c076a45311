// Command leat operates outboxes and inboxes: it shows how they are, tries again what is
// parked, replays, migrates. See docs/cli.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
)

func main() {
	os.Exit(run())
}

// run is main without the exit, so that the signals are given back.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logging.Disable() // what fails is logged, or told, by leat: the client of Redis writes lines of its own
	// A second signal ends the process at once, as if nobody had asked for the first.
	context.AfterFunc(ctx, stop)
	return cli.Main(ctx, command.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Exit: os.Exit,
	})
}
