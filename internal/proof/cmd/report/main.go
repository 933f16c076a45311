// Command report writes the page docs/internals/reliability.md and its plots from the JSON that a run has
// written:
//
//	report [-docs ../../docs/internals] RUN.json
//
// A run of the daemon, or on a database other than PostgreSQL, gets its place on the page of the existing
// run.
//
// It exits with 1 if the run shows a violation, and with 2 if the run does not exist.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/leat-go/leat/internal/proof/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run is main without the process: it takes arguments and a writer, and returns the exit code.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	docs := flags.String("docs", "../../docs/internals", "the folder of the page")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(stderr, "usage: report [-docs ../../docs/internals] RUN.json")
		return 2
	}
	r, err := report.Load(flags.Arg(0))
	if err == nil {
		err = report.Write(*docs, r)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	for _, failure := range r.Failures() {
		fmt.Fprintln(stderr, failure)
	}
	if !r.OK() {
		return 1
	}
	return 0
}
