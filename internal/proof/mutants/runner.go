package mutants

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Config tunes a Runner.
type Config struct {
	// Root is the directory of the module that is mutated. Required.
	Root string

	// Parallel is the number of mutants that are tried at the same time, 1 to 64. Defaults to 2.
	Parallel int

	// Timeout bounds one test without its build, at least a second. Defaults to 3 min.
	Timeout time.Duration

	// SkipBaseline skips the proof that the test passes without the mutant. Defaults to false.
	SkipBaseline bool

	// Report gets each result when it is known, one at a time. Defaults to none.
	Report func(r Result)
}

func (c Config) withDefaults() Config {
	c.Parallel = cmp.Or(c.Parallel, 2)
	c.Timeout = cmp.Or(c.Timeout, 3*time.Minute)
	if c.Report == nil {
		c.Report = func(Result) {}
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Root == "":
		return fmt.Errorf("mutants: Config.Root = %q: is required", c.Root)
	case c.Parallel < 1 || c.Parallel > 64:
		return fmt.Errorf("mutants: Config.Parallel = %d: must be 1 to 64", c.Parallel)
	case c.Timeout < time.Second:
		return fmt.Errorf("mutants: Config.Timeout = %s: must be at least a second", c.Timeout)
	}
	return nil
}

// Runner tries mutants.
type Runner struct {
	cfg       Config
	reporting sync.Mutex
}

// New returns a Runner, or an error if cfg is invalid.
func New(cfg Config) (*Runner, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg}, nil
}

// Run tries each mutant of list and returns the results in the order of list. Once ctx has ended, the
// remaining results are Canceled.
func (r *Runner) Run(ctx context.Context, list []Mutant) []Result {
	results := make([]Result, len(list))
	before := newBaselines(r.cfg, list)
	next := make(chan int)
	var workers sync.WaitGroup
	for range r.cfg.Parallel {
		workers.Go(func() {
			for i := range next {
				results[i] = r.try(ctx, before, &list[i])
				r.report(results[i])
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

func (r *Runner) report(result Result) {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	r.cfg.Report(result)
}

// try tries one mutant.
func (r *Runner) try(ctx context.Context, before baselines, m *Mutant) Result {
	result := Result{Mutant: *m, Verdict: BadMutant}
	err := ctx.Err()
	if err == nil && !r.cfg.SkipBaseline {
		var wrong string
		if wrong, err = before.wrong(ctx, m); err == nil && wrong != "" {
			result.Detail = wrong
			return result
		}
	}
	if err == nil {
		err = r.mutate(ctx, m, &result)
	}
	if err != nil {
		result.Detail = err.Error()
	}
	if ctx.Err() != nil {
		result.Verdict = Canceled
	}
	return result
}

// mutate runs the test with the mutant.
func (r *Runner) mutate(ctx context.Context, m *Mutant, result *Result) (err error) {
	dir, err := os.MkdirTemp("", "leat-mutant-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what remains does no harm
	file, err := overlay(r.cfg.Root, dir, m)
	if err != nil {
		return err
	}
	began := time.Now()
	rep, err := goTest{
		root: r.cfg.Root, pkg: m.Package, tests: []string{m.Test}, overlay: file, timeout: r.cfg.Timeout,
	}.do(ctx)
	result.Took = time.Since(began)
	if err != nil {
		return err
	}
	result.Verdict, result.Detail = rep.verdict(m.Test, m.Hangs)
	if result.Verdict != Survived {
		result.Detail += "\n" + strings.Join(rep.lines, "\n")
	}
	return nil
}
