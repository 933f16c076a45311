package main

import (
	"fmt"
	"io"
	"time"

	"github.com/leat-go/leat/internal/proof/model"
)

// table prints the results of cases, a line each.
type table struct {
	out      io.Writer
	markdown bool

	cases, controls, states int
	took                    time.Duration
}

func newTable(out io.Writer, markdown bool) *table {
	t := &table{out: out, markdown: markdown}
	if markdown {
		fmt.Fprintln(out, "| model | variant | states | transitions | depth | outcome |")
		fmt.Fprintln(out, "|---|---|---:|---:|---:|---|")
	} else {
		fmt.Fprintf(out, "%-16s %-58s %9s %11s %5s %8s  %s\n", "model", "variant", "states", "transitions", "depth", "time", "outcome")
	}
	return t
}

func (t *table) add(c model.Case, r model.Report) {
	t.cases++
	t.states += r.States
	t.took += r.Took
	if c.Forbidden() {
		t.controls++
	}
	if t.markdown {
		fmt.Fprintln(t.out, c.Row(r))
		return
	}
	fmt.Fprintf(t.out, "%-16s %-58s %9d %11d %5d %8s  %s\n",
		c.Model, c.Variant, r.States, r.Transitions, r.Depth, r.Took.Round(time.Millisecond), c.Outcome(r))
}

func (t *table) end() {
	if t.markdown {
		return
	}
	fmt.Fprintf(t.out, "%d searches of protocols and %d of forbidden variants, %d states, %s\n",
		t.cases-t.controls, t.controls, t.states, t.took.Round(time.Millisecond))
}
