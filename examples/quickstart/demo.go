package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/leat-go/leat/internal/testenv"
)

// errViolation is returned when the checker has found a violation.
var errViolation = errors.New("the checker has found violations")

// options are the command line of the demo.
type options struct {
	settings settings
	timeout  time.Duration
}

// minEvents is enough for every kind of trouble to occur.
const minEvents = 1000

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.IntVar(&o.settings.Events, "events", 5000, "how many webhooks arrive, at least 1000")
	flags.IntVar(&o.settings.InFlight, "inflight", 64, "how many may wait for their effect at a time, once it is no longer calm")
	flags.Uint64Var(&o.settings.Seed, "seed", 1, "decides which transactions roll back")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "when to give up")
	on := flags.String("on", string(onPostgres), "the database of outboxes and inboxes: postgres, mysql, mariadb or sqlite")
	postgres := flags.String("postgres", "", "URL of a PostgreSQL server (default $"+testenv.EnvPostgres+", else found or started)")
	kafka := flags.String("kafka", "", "addresses of Kafka, or fake (default $"+testenv.EnvKafka+", else found or started)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.settings.Events < minEvents {
		return o, fmt.Errorf("-events %d: must be at least %d", o.settings.Events, minEvents)
	}
	if o.settings.InFlight < ingestWorkers {
		return o, fmt.Errorf("-inflight %d: must be at least %d", o.settings.InFlight, ingestWorkers)
	}
	for name, value := range map[string]string{testenv.EnvPostgres: *postgres, testenv.EnvKafka: *kafka} {
		if value == "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return o, err
		}
	}
	o.settings.On = databaseName(*on)
	if err := o.settings.On.check(); err != nil {
		return o, err
	}
	if o.settings.On == onSQLite && os.Getenv(testenv.EnvKafka) == "" { // nothing is fetched or started
		if err := os.Setenv(testenv.EnvKafka, "fake"); err != nil {
			return o, err
		}
	}
	o.settings.Sabotage, err = parseSabotage(os.Getenv(envSabotage), o.settings.On)
	if !o.settings.Sabotage.sparesRelay() {
		o.settings.CrashAfter = calmEvents + (o.settings.Events-calmEvents)*3/10
	}
	return o, err
}

// demo sets the stage, runs the services, and judges the result.
func demo(ctx context.Context, args []string) (err error) {
	o, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not done within -timeout %s", o.timeout))
	defer cancel()
	st, err := openStage(ctx, o.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()

	r, err := perform(ctx, st)
	if err != nil {
		return err
	}
	h, err := readHistory(ctx, st, r)
	if err != nil {
		return err
	}
	v := judge(h)
	if err := v.print(os.Stdout); err != nil {
		return err
	}
	return sentence(o.settings.Sabotage, v)
}

// sentence turns a verdict into the result of the program. A broken rule must show in the figure
// that belongs to it.
func sentence(s sabotage, v *verdict) error {
	if s == "" {
		if v.clean() {
			return nil
		}
		return errViolation
	}
	name, value := s.figure(v)
	if value == 0 {
		return fmt.Errorf("%s=%s went unnoticed: %s is 0", envSabotage, s, name)
	}
	fmt.Fprintf(os.Stderr, "%s=%s: caught, %s is %d\n", envSabotage, s, name, value)
	return errViolation
}
