// Command leat-prove-dynamodb is leat prove for DynamoDB, whose client the command leat does without. It
// tests, in scratch tables, the properties that leat's promises depend on. See docs/dynamodb.md.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/leat-go/leat/internal/prover"
)

const program = "leat-prove-dynamodb"

const usage = `Usage: ` + program + ` [flags]

Tests on DynamoDB, in scratch tables, what leat relies on.

The environment has the region, AWS_REGION, and the credentials, AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. AWS_ENDPOINT_URL_DYNAMODB names another server.
For a profile: eval "$(aws configure export-credentials --profile NAME --format env)"

Exit status: 0 done, 1 failed, 2 impossible flags or environment, 5 a promise is broken,
6 something could not be tried and nothing is broken, 130 interrupted.

`

// Exit statuses, as of leat prove.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitBroken      = 5
	exitUnknown     = 6
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once, by its default action.
	context.AfterFunc(ctx, stop)
	// The reader of our output may close it. A write then fails, and what we have created is still removed.
	signal.Ignore(syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command, and returns its exit status.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	var options dynamodb.Options
	if err == nil {
		options, err = environment(getenv)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return exitUsage
	}
	code, err := c.run(ctx, &server{options: options, prefix: c.prefix}, stdout, stderr)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled):
		_, _ = fmt.Fprintf(stderr, "%s: interrupted\n", program)
		return exitInterrupted
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "%s: %s\n", program, strings.TrimPrefix(err.Error(), "leat: "))
	}
	return code
}

// prove is the command with its flags.
type prove struct {
	only, prefix, output string
	workload             time.Duration
}

// tableName matches what the name of a table may begin with. A name has at most 255 characters.
var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,200}$`)

func parse(args []string, stderr io.Writer) (*prove, error) {
	c := &prove{}
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // errors are returned
	flags.StringVar(&c.only, "only", "", "`PATTERN` of the names of probes, such as 'transactions.*'")
	flags.DurationVar(&c.workload, "workload", 20*time.Second, "time of the workload; 0 leaves it out")
	flags.StringVar(&c.prefix, "prefix", "", "`NAME` with which the names of the scratch tables begin, before "+prover.Prefix)
	flags.StringVar(&c.output, "o", "table", "output: table, json or jsonl")
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		flags.SetOutput(io.Discard)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q: there are flags only", flags.Arg(0))
	}
	if _, err := path.Match(c.only, ""); err != nil {
		return nil, invalid("-only", c.only, "must be a pattern such as 'transactions.*'")
	}
	switch {
	case c.workload < 0:
		return nil, invalid("-workload", c.workload.String(), "must not be negative")
	case !tableName.MatchString(c.prefix):
		return nil, invalid("-prefix", c.prefix, "must have at most 200 of A-Z, a-z, 0-9, '_', '.' and '-'")
	case c.output != "table" && c.output != "json" && c.output != "jsonl":
		return nil, invalid("-o", c.output, "must be table, json or jsonl")
	}
	return c, nil
}

// environment returns what the environment says about the server. The SDK's module that reads profiles and
// roles is left out: it would be in the go.sum of every user of the inbox.
func environment(getenv func(string) string) (o dynamodb.Options, err error) {
	o.Region = cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))
	if o.Region == "" {
		return o, invalid("AWS_REGION", "", "must name the region of the tables")
	}
	is := aws.Credentials{
		AccessKeyID: getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN"),
		Source: "environment",
	}
	if !is.HasKeys() {
		return o, invalid("AWS_ACCESS_KEY_ID", is.AccessKeyID, "must be set, and AWS_SECRET_ACCESS_KEY, as aws configure export-credentials does")
	}
	o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return is, nil })
	name := "AWS_ENDPOINT_URL_DYNAMODB"
	if getenv(name) == "" {
		name = "AWS_ENDPOINT_URL"
	}
	if endpoint := getenv(name); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return o, invalid(name, endpoint, "must be a URL such as http://localhost:8000")
		}
		o.BaseEndpoint = &endpoint
	}
	return o, nil
}

// invalid returns the error of a flag or variable and its value.
func invalid(name, value, must string) error { return fmt.Errorf("%s %q: %s", name, value, must) }

// run tries the server, and prints what is found.
func (c *prove) run(ctx context.Context, s prover.Server, stdout, stderr io.Writer) (code int, err error) {
	about := s.About(ctx)
	if c.output == "table" {
		if _, err := fmt.Fprintln(stdout, about); err != nil {
			return exitFailed, err
		}
	}
	document := json.NewEncoder(stdout)
	found, err := prover.Run(ctx, s, prover.Options{
		Only: c.only, Workload: c.workload,
		Around: func(name string, do func() error) error { return shown(stderr, name, do) },
		Tell: func(f prover.Finding) error {
			switch c.output {
			case "json":
				return nil
			case "jsonl":
				return document.Encode(f)
			default:
				return printed(stdout, f)
			}
		},
	})
	switch {
	case err != nil:
		return exitFailed, err
	case len(found) == 0:
		return exitUsage, invalid("-only", c.only, "matches no probe")
	}
	worst := prover.Worst(found)
	if c.output == "json" {
		if err := document.Encode(prover.Report{Server: about, Outcome: worst, Findings: found}); err != nil {
			return exitFailed, err
		}
	}
	switch worst {
	case prover.Broken:
		return exitBroken, nil
	case prover.CouldNotTry:
		return exitUnknown, nil
	default:
		return exitDone, nil
	}
}

// printed prints a finding. Terminals wrap what is long.
func printed(stdout io.Writer, f prover.Finding) error {
	whole := func(text, first, _ string) []string { return []string{first + plain(text)} }
	lines := f.Lines(whole, func(o prover.Outcome) string { return string(o) })
	_, err := io.WriteString(stdout, strings.Join(lines, "\n")+"\n")
	return err
}

// plain replaces what a terminal might take as a command.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '�'
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// shownEvery is the time between two lines about what runs.
const shownEvery = 10 * time.Second

// shown shows that do is running.
func shown(stderr io.Writer, name string, do func() error) error {
	began, done := time.Now(), make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		ticker := time.NewTicker(shownEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				_, _ = fmt.Fprintf(stderr, "%s: %s\n", name, time.Since(began).Round(time.Second))
			}
		}
	})
	err := do()
	close(done)
	showing.Wait()
	return err
}
