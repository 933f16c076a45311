// Command quickstart carries GitHub webhooks from one service to another and
// proves that none was lost, none took effect twice, none was made up and each
// repository's came in order, although a relay is killed, transactions roll
// back, handlers fail and everything is delivered more than once.
//
// Read ingest.go, relay.go and consumer.go first: they are how leat is used, one file per
// service, on the database that store.go opens. Everything else is the test bench around them.
// docs/internals/demo.md explains what is proven and how.
//
//	go run ./quickstart [-events N] [-postgres URL] [-kafka ADDRESSES]
//	go run -tags demo_sqlite ./quickstart -on sqlite
//	SABOTAGE=no-inbox go run ./quickstart -events 3000
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/leat-go/leat/internal/testenv"
)

// Exit codes of the demo. They distinguish a broken rule from a broken machine.
const (
	exitViolation   = 1
	exitTrouble     = 2
	exitInterrupted = 130
)

func main() {
	testenv.Supervise() // a server that the demo starts is watched by this program
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := start(ctx)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errViolation):
		os.Exit(exitViolation)
	case interrupted:
		fmt.Fprintln(os.Stderr, "quickstart: interrupted")
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(exitTrouble)
	}
}

// start runs the demo or, in a process that the demo has started, a relay.
func start(ctx context.Context) error {
	s, isRelay, err := settingsFromEnvironment()
	switch {
	case err != nil:
		return err
	case !isRelay:
		return demo(ctx, os.Args[1:])
	}
	ctx, cancel := lifeline(ctx)
	defer cancel()
	return runRelay(ctx, s)
}
