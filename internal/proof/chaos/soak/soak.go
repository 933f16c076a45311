// Package soak is the command of chaos runs, for programs with different extras:
// internal/proof/cmd/soak has PostgreSQL, internal/proof/sqltest/cmd/soak has all databases, and
// internal/proof/cmd/soakdaemon relays with the daemon.
package soak

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
	"github.com/leat-go/leat/internal/testenv"
)

// Exit codes. They distinguish a broken promise from a broken machine.
const (
	exitViolation   = 1
	exitTrouble     = 2
	exitInterrupted = 130
)

// errViolation is returned when the checker has found a violation.
var errViolation = errors.New("the checker has found violations")

// Main is a command's main.
func Main(extras roles.Extras) {
	testenv.Supervise() // supervises the servers that this program starts
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := start(ctx, extras)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errViolation):
		os.Exit(exitViolation)
	case interrupted:
		fmt.Fprintln(os.Stderr, "soak: interrupted")
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(exitTrouble)
	}
}

// start drives a run or, in a process that the driver has started, plays its role.
func start(ctx context.Context, extras roles.Extras) error {
	s, isRole, err := roles.FromEnvironment()
	if err != nil {
		return err
	}
	if isRole {
		return roles.Run(ctx, s, extras)
	}
	return soak(ctx, extras, os.Args[1:])
}

// bounded is how long a run with -faults and without -for may take.
const bounded = time.Hour

// defaultFor returns the duration of a run without -for.
func defaultFor(faults int) time.Duration {
	if faults > 0 {
		return bounded
	}
	return 10 * time.Minute
}

func soak(ctx context.Context, extras roles.Extras, args []string) error {
	o := chaos.Options{Out: os.Stdout, Extras: extras}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&o.For, "for", 0, "how long faults are injected (default 10m, or 1h where -faults is given)")
	flags.IntVar(&o.Faults, "faults", 0, "stop when so many faults count, 0 for no bound")
	flags.Uint64Var(&o.Seed, "seed", 1, "decides what is done and when")
	flags.StringVar(&o.Dir, "dir", "", "where histories are kept (default a temporary directory that is removed if all was well)")
	flags.IntVar(&o.Rate, "rate", 0, "transactions a second (default 400)")
	flags.DurationVar(&o.Gap, "gap", 0, "mean time between two faults at one process (default 150ms, 1s with -tail)")
	flags.StringVar(&o.Sabotage, "sabotage", "", "break a rule: "+strings.Join(roles.Sabotages(), ", "))
	flags.StringVar(&o.Store, "store", roles.Postgres, "what all stands on: "+strings.Join(roles.Stores(), ", "))
	flags.BoolVar(&o.Tail, "tail", false, "have the bank's relays follow PostgreSQL's change log")
	flags.BoolVar(&o.Content, "content", false, "have the bank's events in Avro by a schema registry, and sealed; without acts")
	acts := flags.String("acts", "", "acts to perform, separated by commas, all or none (default all of the store, none with -sabotage)")
	flags.DurationVar(&o.ActGap, "act-gap", 0, "mean time between two acts once each has been performed (default 40s)")
	controls := flags.Bool("controls", false, "then run with each of those rules broken, which must be noticed")
	docs := flags.String("report", "", "the folder of the documentation that the report is written to")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.For = cmp.Or(o.For, defaultFor(o.Faults))
	o.Acts = actsOf(*acts, o)
	temporary := o.Dir == ""
	if temporary {
		dir, err := os.MkdirTemp("", "leat-soak-")
		if err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
		o.Dir = dir
	}
	r, err := chaos.Run(ctx, o)
	if err != nil {
		return err
	}
	if *controls {
		if r.Controls, err = sabotaged(ctx, o); err != nil {
			return err
		}
	}
	r.Command = command(o, *controls)
	if err := conclude(r, o, *docs); err != nil {
		return err
	}
	if temporary {
		return os.RemoveAll(o.Dir)
	}
	return nil
}

// command returns the command line that repeats a run, except for its directory.
func command(o chaos.Options, controls bool) string {
	program := "go run -C internal/proof ./cmd/soak"
	switch {
	case o.Extras.Daemon != nil:
		program = "go run -C internal/proof ./cmd/soakdaemon"
	case roles.IsSQL(o.Store):
		program = "go run -C internal/proof/sqltest ./cmd/soak"
	}
	words := []string{fmt.Sprintf("%s -for %s -seed %d", program, o.For, o.Seed)}
	for _, f := range []struct {
		given bool
		text  string
	}{
		{o.Faults > 0, fmt.Sprintf("-faults %d", o.Faults)},
		{o.Rate > 0, fmt.Sprintf("-rate %d", o.Rate)},
		{o.Gap > 0, "-gap " + o.Gap.String()},
		{o.Sabotage != "", "-sabotage " + o.Sabotage},
		{o.Store != roles.Postgres, "-store " + o.Store},
		{o.Tail, "-tail"},
		{o.Content, "-content"},
		{len(o.Acts) != len(chaos.Acts(o.Store)) && o.Sabotage == "" && !o.Content, "-acts " + cmp.Or(strings.Join(o.Acts, ","), "none")},
		{o.ActGap > 0, "-act-gap " + o.ActGap.String()},
		{controls, "-controls"},
	} {
		if f.given {
			words = append(words, f.text)
		}
	}
	return strings.Join(words, " ")
}

// controlFor is how long faults are injected into a run with a broken rule.
const controlFor = 15 * time.Second

// sabotaged makes one run for each broken rule, and reports which were noticed.
func sabotaged(ctx context.Context, o chaos.Options) ([]report.Control, error) {
	var controls []report.Control
	dir := o.Dir
	o.For, o.Faults, o.Drain = controlFor, 0, controlFor
	for _, rule := range chaos.Sabotages(o.Store) {
		fmt.Fprintf(os.Stdout, "\nwith %s, which must be noticed:\n", rule)
		o.Sabotage, o.Dir, o.Acts = rule, filepath.Join(dir, "control-"+rule), nil
		if rule == roles.NoMarks { // this rule has an effect only if the database goes back
			o.Acts = []string{"history/split-brain"}
		}
		r, err := chaos.Run(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("control %s: %w", rule, err)
		}
		violated := r.Verdict.Violated()
		fmt.Fprintf(os.Stdout, "%s violates %s\n", rule, strings.Join(violated, ", "))
		controls = append(controls, report.Control{Name: rule, Violated: violated})
	}
	return controls, nil
}

// actsOf returns the acts that were asked for.
func actsOf(names string, o chaos.Options) []string {
	switch {
	case names == "none", names == "" && (o.Sabotage != "" || o.Content):
		return nil
	case names == "", names == "all":
		return chaos.Acts(o.Store)
	default:
		return strings.Split(names, ",")
	}
}

// conclude prints the faults and the findings, and writes the report.
func conclude(r report.Run, o chaos.Options, docs string) error {
	if err := r.Save(filepath.Join(o.Dir, "run.json")); err != nil {
		return err
	}
	if err := chaos.Print(os.Stdout, r); err != nil {
		return err
	}
	if docs != "" {
		if err := report.Write(docs, r); err != nil {
			return err
		}
	}
	for _, failure := range r.Failures() {
		fmt.Fprintln(os.Stdout, failure)
	}
	if !r.OK() {
		fmt.Fprintf(os.Stdout, "the histories are kept in %s\n", o.Dir)
		return errViolation
	}
	return nil
}
