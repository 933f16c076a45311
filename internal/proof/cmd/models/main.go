// Command models checks the models of leat's protocols, and that each of their
// forbidden variants is caught. It exits with 1 if a protocol breaks a promise or a
// variant does not break the one that it is listed with, or if no model is selected.
//
//	models [-model part of a name] [-trace] [-markdown]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/leat-go/leat/internal/proof/model/catalogue"
)

func main() {
	var o options
	flag.StringVar(&o.part, "model", "", "check only models whose name or variant contains this")
	flag.BoolVar(&o.trace, "trace", false, "print the trace of each variant that is caught; * marks faults and other steps from outside")
	flag.BoolVar(&o.markdown, "markdown", false, "print the table in Markdown, without times")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failures := run(ctx, os.Stdout, o)
	stop()
	for _, err := range failures {
		fmt.Fprintln(os.Stderr, err)
	}
	if len(failures) > 0 {
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	part            string
	trace, markdown bool
}

// run checks the models that o selects, and returns the failures.
func run(ctx context.Context, out io.Writer, o options) (failures []error) {
	t := newTable(out, o.markdown)
	for _, c := range catalogue.Cases() {
		if !strings.Contains(c.Name(), o.part) {
			continue
		}
		r, err := c.Run(ctx)
		if err != nil {
			return append(failures, fmt.Errorf("%s: %w", c.Name(), err))
		}
		if err := c.Judge(r); err != nil {
			failures = append(failures, err)
		}
		t.add(c, r)
		if o.trace && r.Broken != nil {
			fmt.Fprintln(out, r.Broken)
		}
	}
	t.end()
	if t.cases == 0 {
		failures = append(failures, fmt.Errorf("-model %q: no model is called so", o.part))
	}
	return failures
}
