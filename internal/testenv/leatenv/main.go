// Command leatenv starts the servers that leat's tests and examples run on.
//
//	leatenv run [-services LIST] [-memory] -- command …
//	leatenv up | down | status
//	leatenv kafka
//
// Run starts missing services once, passes the addresses to the command in its environment, and
// stops what it started when the command ends. With -memory the servers keep their data in memory,
// if the machine has plenty of it. Up does the same without a command, until down. Kafka runs a
// broker in the foreground.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

func main() {
	testenv.Supervise()
	testenv.PlayRedis(fakeredis.Start)
	os.Exit(exitCode(dispatch(os.Args[1:])))
}

// errUsage is returned for an invalid command line.
var errUsage = errors.New("usage: leatenv run [-services LIST] [-memory] -- command … | up | down | status | kafka")

func dispatch(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet("leatenv "+args[0], flag.ContinueOnError)
	services := flags.String("services", "postgres,kafka,redis", "the services that are needed, of postgres, kafka, redis, rabbitmq, mysql, mariadb, dynamodb and apicurio")
	memory := new(bool)
	if args[0] == "run" {
		flags.BoolVar(memory, "memory", false, "keep what servers hold in memory, if there is plenty of it")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return errors.Join(errUsage, err)
	}
	needs, err := parseNeeds(*services)
	if err != nil {
		return err
	}
	if *memory {
		testenv.InMemory()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	switch args[0] {
	case "run":
		return run(ctx, needs, flags.Args())
	case "up":
		return up(ctx, *services)
	case "hold":
		return hold(ctx, needs)
	case "down":
		return testenv.StopDetached(ctx)
	case "status":
		return status(ctx)
	case "kafka":
		return foreground(ctx)
	default:
		return errUsage
	}
}

func parseNeeds(services string) (testenv.Needs, error) {
	var needs testenv.Needs
	for name := range strings.SplitSeq(services, ",") {
		switch testenv.Kind(name) {
		case testenv.KindPostgres:
			needs.Postgres = true
		case testenv.KindKafka:
			needs.Kafka = true
		case testenv.KindRedis:
			needs.Redis = true
		case testenv.KindRabbit:
			needs.Rabbit = true
		case testenv.KindMySQL:
			needs.MySQL = true
		case testenv.KindMariaDB:
			needs.MariaDB = true
		case testenv.KindDynamo:
			needs.Dynamo = true
		case testenv.KindApicurio:
			needs.Apicurio = true
		default:
			return needs, fmt.Errorf("-services: %q is not postgres, kafka, redis, rabbitmq, mysql, mariadb, dynamodb or apicurio", name)
		}
	}

	return needs, nil
}

// exitCode returns the exit status of the command that err is about.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if command, ok := errors.AsType[*commandError](err); ok {
		return command.status
	}
	fmt.Fprintln(os.Stderr, "leatenv:", err)

	return 1
}
