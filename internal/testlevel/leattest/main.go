// Command leattest runs tests by their level.
//
//	leattest run -levels 0,1,2/6 [-commit N] [-module DIR] [-only regexp] [-rerun N] [-- flags of go test]
//	leattest list …
//	leattest commit
//
// Run hands the tests to one go test of all modules, which gotestsum presents; list prints
// them instead; commit prints the number of the commit. A level with a slash is cut into
// slices: 2/6 is a sixth of level 2. The commit chooses which one, so that six commits in a
// row run all of them.
//
// If the variable LEAT_TEST_TIMES names a file, run adds a line for each package to it: its
// seconds, how many tests and sub-tests passed, and its name.
//
// With -rerun N, at most N tests that failed are run once more. One that passes then is flaky:
// run succeeds, prints its name, and adds it to the file that LEAT_TEST_FLAKES names. A data
// race, a panic and a leak are not run again, since a second run proves nothing about them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:])
	stop()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "leattest:", err)
		os.Exit(2)
	}
}

var errUsage = errors.New("usage: leattest run|list -levels 0,1,2/6 [-commit N] [-module DIR] [-only regexp] [-rerun N] [-- flags of go test]")

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "run", "list":
		r, err := newRun(ctx, args[0], args[1:])
		if err != nil {
			return err
		}
		if args[0] == "list" {
			return r.list(os.Stdout)
		}
		return r.test(ctx)
	case "commit":
		number, err := commitNumber(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Println(number)
		return err
	case "exec": // go test calls it for each test binary
		return execute(args[1:])
	default:
		return errUsage
	}
}
