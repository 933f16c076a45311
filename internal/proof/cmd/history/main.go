// Command history judges the history in a directory and prints the verdict:
//
//	history [-json] [-reach 10s] [-lines 60] DIR
//
// It exits with 1 if a promise is violated and with 2 if the history can't be used.
// docs/internals/history-format.md describes what it reads.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/leat-go/leat/internal/history"
)

// Exit codes.
const (
	innocent = iota
	convicted
	unusable
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process: it takes arguments and writers, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("history", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print the verdict as JSON")
	reach := flags.Duration("reach", 0, "how long after its end a fault can explain a repeat (default 10s)")
	lines := flags.Int("lines", 0, "how many lines the history of an offence shows (default 60)")
	if err := flags.Parse(args); err != nil {
		return unusable
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(stderr, "usage: history [-json] [-reach 10s] [-lines 60] DIR")
		return unusable
	}
	verdict, err := history.Check(ctx, flags.Arg(0), history.Options{Reach: *reach, MaxLines: *lines})
	if err == nil {
		err = show(verdict, *asJSON, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return unusable
	}
	if !verdict.OK() {
		return convicted
	}
	return innocent
}

func show(verdict history.Verdict, asJSON bool, stdout io.Writer) error {
	if !asJSON {
		return verdict.Print(stdout)
	}
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(verdict); err != nil {
		return errors.Join(errors.New("print verdict"), err)
	}
	return nil
}
