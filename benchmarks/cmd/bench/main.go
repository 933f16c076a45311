// Command bench runs the benchmarks, compares the results with the gates, and writes the pages with the
// results:
//
//	go run ./cmd/bench -docs ../docs
//	go run ./cmd/bench -quick
//	go run ./cmd/bench -bench RelayDrain
//	go run ./cmd/bench -from samples -docs ../docs
//	go run ./cmd/bench -bench RelayDrain -again -docs ../docs
//
// It runs in the directory of the benchmarks. It writes the pages only from a run of all benchmarks at full
// scale, or from saved results. Results of a benchmark that runs again replace the saved ones of the pages,
// which say so. A missed gate does not make it fail. A failing benchmark does, and so does a rival that is
// far slower than it can be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/leat-go/leat/benchmarks/internal/gate"
	"github.com/leat-go/leat/benchmarks/internal/page"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := bench(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Scales of a run, as the benchmarks' flag -scale names them.
const (
	scaleFull  = "full"
	scaleQuick = "quick"
	scaleCI    = "ci"
)

// all is the pattern that selects all benchmarks.
const all = "."

// options are the flags of the command line.
type options struct {
	scale, bench, results, from, docs, samples string
	count                                      int
	again                                      bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.scale, "scale", scaleFull, "how much the benchmarks do: full, quick or ci")
	quick := flags.Bool("quick", false, "the benchmarks of the gates at scale quick, and no page")
	flags.StringVar(&o.bench, "bench", all, "which benchmarks, as a pattern of go test")
	flags.IntVar(&o.count, "count", 1, "how often, for benchstat")
	flags.StringVar(&o.results, "results", "", "the directory of the results (default a temporary one)")
	flags.StringVar(&o.from, "from", "", "measure nothing: the results are in this directory")
	flags.StringVar(&o.docs, "docs", "", "the folder of the documentation that the pages are written to")
	flags.StringVar(&o.samples, "samples", "samples", "the folder of the results that the pages show")
	flags.BoolVar(&o.again, "again", false, "the results take the place of those of the same benchmarks on the pages")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *quick {
		o.scale = scaleQuick
	}
	switch o.scale {
	case scaleFull, scaleQuick, scaleCI:
	default:
		return o, fmt.Errorf("-scale %s: must be full, quick or ci", o.scale)
	}
	if o.again && (o.docs == "" || o.scale != scaleFull) {
		return o, fmt.Errorf("-again at scale %s and -docs %q: it needs the full scale and a page to add to", o.scale, o.docs)
	}
	if o.again && strings.Contains(o.bench, "/") {
		return o, fmt.Errorf("-again of -bench %q: only whole benchmarks take the place of others", o.bench)
	}
	if o.scale == scaleQuick && o.bench == all {
		o.bench = gate.Benchmarks()
	}
	return o, nil
}

// complete reports whether the results include everything that the pages show.
func (o options) complete() bool {
	return o.from != "" || o.again || o.scale == scaleFull && o.bench == all
}

func bench(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	dir := o.from
	var failed error
	if dir == "" {
		if dir, err = o.resultsDir(); err != nil {
			return err
		}
		failed = measure(ctx, o, dir, out)
		fmt.Fprintf(out, "the results are in %s\n", dir)
	}
	if o.again && failed == nil {
		if dir, err = withTheRest(o.samples, dir); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() //nolint:gosec // a copy, made above
	}
	undercut, err := judge(dir, out)
	if err != nil {
		return errors.Join(failed, err)
	}
	if failed != nil || o.docs == "" || !o.complete() {
		return errors.Join(failed, undercut)
	}
	missing, err := page.Write(o.docs, o.samples, dir)
	for _, figure := range missing {
		fmt.Fprintln(out, "the page has a place for what was not measured:", figure)
	}
	return errors.Join(undercut, err)
}

// withTheRest returns a new directory with the results in dir and, for all other benchmarks, those in
// samples.
func withTheRest(samples, dir string) (string, error) {
	merged, err := os.MkdirTemp("", "leat-bench-")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	if err := results.Merge(merged, samples, dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(merged))
	}
	return merged, nil
}

// resultsDir returns the directory for results. It creates one if none was given.
func (o options) resultsDir() (string, error) {
	if o.results != "" {
		return o.results, nil
	}
	dir, err := os.MkdirTemp("", "leat-bench-")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	return dir, nil
}

// judge prints the outcomes of the gates, and returns an error if a rival is too slow.
func judge(dir string, out io.Writer) (undercut, err error) {
	set, err := results.Load(dir)
	if err != nil {
		return nil, err
	}
	environment, err := results.LoadEnvironment(dir)
	if err != nil {
		return nil, err
	}
	if environment.Scale != scaleFull {
		fmt.Fprintf(out, "scale %s: the sizes are smaller than those that the gates are about\n", environment.Scale)
	}
	for _, s := range gate.Check(set, gate.Floors()) {
		fmt.Fprintln(out, s.Line())
		if s.State == gate.Missed && environment.Scale != scaleCI {
			undercut = errors.Join(undercut, fmt.Errorf("rival %s is slower than it can be: compare with nothing that was hobbled", s.Name))
		}
	}
	for _, o := range gate.Judge(set, gate.All()) {
		fmt.Fprintln(out, o.Line())
	}
	return undercut, nil
}
