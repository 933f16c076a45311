// Command mutants breaks leat's own rules, one at a time, and fails unless the test
// that is named for each notices.
//
//	mutants [-short] [-only regexp] [-slice 5/32] [-list] [-parallel n] [-timeout d] [-skip-baseline] [-markdown] [-v]
//
// It needs the servers of package testenv: run it under leatenv, which starts them
// once, or with their addresses in the environment. With -short it needs none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/proof/mutants"
	"github.com/leat-go/leat/internal/proof/repo"
)

// errNoticed is returned if some mutant was not noticed.
var errNoticed = errors.New("not every mutation was noticed")

// errPart is returned if the results of only a part of the mutations would be published as those of all.
var errPart = errors.New("-markdown is about all mutations: not with -only, -slice, -short or -list")

type options struct {
	only, slice  string
	short, list  bool
	parallel     int
	timeout      time.Duration
	skipBaseline bool
	markdown     bool
	verbose      bool
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "those whose names match the regular expression")
	flag.StringVar(&o.slice, "slice", "0/1", "every 32nd, from the 5th on: 5/32; a row of first numbers tries all, however large they are")
	flag.BoolVar(&o.short, "short", false, "those whose tests need no server")
	flag.BoolVar(&o.list, "list", false, "list them and run nothing")
	flag.IntVar(&o.parallel, "parallel", 2, "how many to try at the same time")
	flag.DurationVar(&o.timeout, "timeout", 3*time.Minute, "bound of one test")
	flag.BoolVar(&o.skipBaseline, "skip-baseline", false, "do not prove first that the tests pass without a mutation")
	flag.BoolVar(&o.markdown, "markdown", false, "write docs/internals/mutations.md, which is about all of them")
	flag.BoolVar(&o.verbose, "v", false, "print what the tests say")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if o.markdown && (o.only != "" || o.slice != "0/1" || o.short || o.list) {
		return errPart
	}
	list, err := choose(o)
	if err != nil || o.list {
		return err
	}
	root, err := repo.Root(".")
	if err != nil {
		return err
	}
	runner, err := mutants.New(mutants.Config{
		Root: root, Parallel: o.parallel, Timeout: o.timeout, SkipBaseline: o.skipBaseline,
		Report: func(r mutants.Result) { show(r, o.verbose) },
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	results := runner.Run(ctx, list)
	killed := 0
	for _, r := range results {
		if r.Verdict == mutants.Killed {
			killed++
		}
	}
	fmt.Printf("%d mutations, %d noticed, in %s\n", len(results), killed, time.Since(began).Round(time.Second))
	if o.markdown && ctx.Err() == nil {
		err = publish(root, results, o.skipBaseline)
	}
	if killed < len(results) {
		err = errors.Join(errNoticed, err)
	}
	return err
}

// choose returns the mutants to try.
func choose(o options) ([]mutants.Mutant, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	list := slices.DeleteFunc(mutants.All(), func(m mutants.Mutant) bool {
		return !only.MatchString(m.Name) || o.short && m.Needs != 0
	})
	if list, err = cut(list, o.slice); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("-only %q: no mutation is called so", o.only)
	}
	if o.list {
		for _, m := range list {
			fmt.Printf("%-44s %-10s %s: %s (needs %s)\n", m.Name, strings.Join(m.Breaks, ","), m.Package, m.Test, m.Needs)
		}
	}
	return list, nil
}

// cut returns a slice of list, such as 5/32.
func cut(list []mutants.Mutant, slice string) ([]mutants.Mutant, error) {
	var nth, of int
	if _, err := fmt.Sscanf(slice, "%d/%d", &nth, &of); err != nil || nth < 0 || of < 1 {
		return nil, fmt.Errorf("-slice %q: must be two numbers, such as 5/32", slice)
	}
	var part []mutants.Mutant
	for i := nth % of; i < len(list); i += of {
		part = append(part, list[i])
	}
	return part, nil
}

func show(r mutants.Result, verbose bool) {
	fmt.Printf("%-10s %6.1fs  %-44s %s\n", r.Verdict, r.Took.Seconds(), r.Mutant.Name, r.Mutant.Test)
	if verbose || r.Verdict != mutants.Killed {
		fmt.Println("    " + strings.ReplaceAll(r.Detail, "\n", "\n    "))
	}
}

// publish writes the table.
func publish(root string, results []mutants.Result, skippedBaseline bool) error {
	levels, err := mutants.Levels(os.DirFS(root), mutants.All())
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(root, "docs", "internals", "mutations.md")) //nolint:gosec // our own sources
	if err != nil {
		return err
	}
	return errors.Join(mutants.Markdown(file, results, levels, skippedBaseline), file.Close())
}
