// Command leat operates outboxes and inboxes: it shows how they are, tries again what is
// parked, replays, migrates. See docs/cli.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
)

func main() {
	os.Exit(run())
}

// run is main without the exit, so that the signals are given back.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once, as if nobody had asked for the first.
	context.AfterFunc(ctx, stop)
	return cli.Main(ctx, cli.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Exit: os.Exit,
	})
}
