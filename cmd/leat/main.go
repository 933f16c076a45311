// Command leat operates outboxes and inboxes: it shows their state, retries parked records, replays and
// migrates. See docs/cli.md.
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

// run is main without os.Exit, so that deferred calls run.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logging.Disable() // leat logs or prints errors itself; the Redis client would write its own lines
	// A second signal ends the process at once, by its default action.
	context.AfterFunc(ctx, stop)
	return cli.Main(ctx, command.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv, Exit: os.Exit,
	})
}
