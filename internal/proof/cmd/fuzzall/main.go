// Command fuzzall runs each fuzz target of the given packages for a while, one after the other, and
// reports its findings.
//
//	go run ./cmd/fuzzall -dir ../.. -for 10s [-run regexp] [package…]
//
// It ends with status 1 if a target fails; the input is then under testdata/fuzz of its package. If
// there is no target, it fails, too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}

var (
	errNoTarget = errors.New("there is no fuzz target")
	errFailed   = errors.New("targets failed")
)

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fuzzall", flag.ContinueOnError)
	span := flags.String("for", "10s", "how long each target is run, or with an x how often, such as 1000x")
	dir := flags.String("dir", ".", "the module's directory")
	only := flags.String("run", "", "run only targets whose package.Name matches")
	parallel := flags.Int("parallel", 0, "workers of each target, 0 for as many as CPUs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	packages := flags.Args()
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	module := module{dir: *dir, parallel: *parallel}
	targets, err := module.list(ctx, packages)
	if err != nil {
		return err
	}
	return module.fuzz(ctx, matching(targets, pattern), *span)
}

func matching(all []target, pattern *regexp.Regexp) (some []target) {
	for _, t := range all {
		if pattern.MatchString(t.pkg + "." + t.name) {
			some = append(some, t)
		}
	}
	return some
}
