package diagnose

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/leat-go/leat/cmd/leat/internal/assemble"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/doctor"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/prove"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/outbox"
)

// Prove is the command prove.
type Prove struct {
	Only     string       `placeholder:"PATTERN" help:"Probes whose names match, such as 'locks.*'."`
	Workload command.Span `default:"20s" placeholder:"DURATION" help:"Time of the workload; 0 leaves it out."`
	To       string       `placeholder:"TOPIC" help:"Try the destination of --sink or --brokers instead, with a topic for nothing else: records stay in it."`
	command.Destination
	Hold bool `hidden:"" help:"Be the second process that holds the lock of a file of SQLite."`
}

// Run tries the server.
func (c *Prove) Run(d *command.Deps) error {
	if _, err := path.Match(c.Only, ""); err != nil {
		return command.Usage("--only", c.Only, "must be a pattern such as 'locks.*'")
	}
	server, end, err := c.server(d)
	if err != nil || server == nil {
		return err
	}
	defer end()
	// The reader of our output may close it. A write then fails, and what we have created is still removed.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	about := server.About(d.Context)
	if d.Format == show.Table {
		if err := d.Paragraph("%s", show.Plain(about)); err != nil {
			return err
		}
	}
	found, err := prover.Run(d.Context, server, prover.Options{
		Only: c.Only, Workload: c.workload(),
		Around: func(name string, do func() error) error { return d.Bar(name, "", 0).Spin(do) },
		Tell: func(f prover.Finding) error {
			redact(&f)
			switch d.Format {
			case show.JSON:
				return nil
			case show.JSONL:
				return d.Document(f)
			default:
				return printProbe(d, f)
			}
		},
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return command.Usage("--only", c.Only, "matches no probe")
	}
	for i := range found {
		redact(&found[i])
	}
	worst := prover.Worst(found)
	if d.Format == show.JSON {
		if err := d.Document(prover.Report{Server: about, Outcome: worst, Findings: found}); err != nil {
			return err
		}
	}
	switch worst {
	case prover.Broken:
		return command.ErrFindings
	case prover.CouldNotTry:
		return command.ErrUnknown
	default:
		return nil
	}
}

// workload is how long the workload produces. A destination has no workload.
func (c *Prove) workload() time.Duration {
	if c.To != "" {
		return 0
	}
	return time.Duration(c.Workload)
}

// server returns the server to try, and a function that closes it; nil if this is the second process of a
// run.
func (c *Prove) server(d *command.Deps) (prover.Server, func(), error) {
	if c.To != "" {
		return c.destination(d)
	}
	if c.Brokers+c.Sink != "" {
		if _, err := c.Where(d); err != nil {
			return nil, nil, err
		}
		return nil, nil, command.Usage("--to", "", "must name a topic with --brokers or --sink")
	}
	db, err := d.Open()
	if err != nil {
		return nil, nil, err
	}
	if c.Hold {
		return nil, nil, holds(d, db)
	}
	server, err := serverOf(db)
	return server, func() {}, err
}

// destination returns the destination that the flags name.
func (c *Prove) destination(d *command.Deps) (_ prover.Server, end func(), err error) {
	if err := command.CheckTopic("--to", c.To); err != nil {
		return nil, nil, err
	}
	to, err := c.Where(d)
	if err != nil {
		return nil, nil, err
	}
	if to.AMQP != nil { // a queue can be read, an exchange cannot
		to.AMQP.Queues = settings.Text{Value: "true", From: "--to"}
	}
	in := assemble.Input{Settings: d.Settings, Logger: slog.New(slog.DiscardHandler)}
	if to.Kafka != nil {
		if in.Settings.Kafka, err = d.Kafka(c.Brokers); err != nil {
			return nil, nil, err
		}
	}
	made, done, err := assemble.Sink(in, settings.Relay{At: settings.Place{Path: "prove"}, Sink: to})
	if err != nil {
		return nil, nil, err
	}
	about := prove.Destination{Name: to.Kind(), Topic: c.To, Sink: made}
	unread := func() {}
	switch {
	case to.Kafka != nil:
		about.Read, unread, err = sink.ReadKafka(in.Settings.Kafka, c.To)
		if cluster, ok := made.(sink.Cluster); ok {
			about.Look = func(ctx context.Context) (broken, care []string, err error) { return lookAtTopic(ctx, cluster, c.To) }
		}
	case to.Redis != nil:
		about.Read, unread, err = sink.ReadRedis(*to.Redis, c.To)
	case to.NATS != nil:
		about.Read, about.Look, unread, err = sink.ReadNATS(*to.NATS, c.To)
	case to.AMQP != nil:
		about.Read, unread, err = sink.ReadAMQP(*to.AMQP, c.To)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return prove.Sink(about), func() {
		unread()
		done()
	}, nil
}

// lookAtTopic returns what doctor reports about a topic of Kafka.
func lookAtTopic(ctx context.Context, cluster sink.Cluster, topic string) (broken, care []string, err error) {
	for _, check := range sink.Checks(cluster, func(context.Context) ([]sink.Use, error) { return []sink.Use{{Topic: topic}}, nil }) {
		found, err := check.Run(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range found {
			switch text := f.Text + ": " + f.Advice; f.Verdict {
			case doctor.Fail:
				broken = append(broken, text)
			case doctor.Warn:
				care = append(care, text)
			case doctor.OK, doctor.Unknown:
			}
		}
	}
	return broken, care, nil
}

// serverOf returns the server of a database that prove supports.
func serverOf(db open.Database) (prover.Server, error) {
	switch db := db.(type) {
	case *open.Postgres:
		return prove.Postgres(db.Pool), nil
	case *open.SQL:
		if db.Dialect() == outbox.SQLite {
			return prove.SQLite(db, second), nil
		}
		return prove.MySQL(db)
	default:
		return nil, command.UsageError{Err: untriedError(db.Product())}
	}
}

// second returns a process that holds the lock of a file of SQLite.
func second(ctx context.Context, file string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, self, "prove", "--hold") //nolint:gosec // it is this program
	cmd.Env = []string{"LEAT_DATABASE_URL=sqlite:" + file}
	return cmd
}

// holds is what the process of second runs.
func holds(d *command.Deps, db open.Database) error {
	file, ok := db.(*open.SQL)
	if !ok || file.Path() == "" {
		return command.Usage("--hold", "", "is for a file of SQLite")
	}
	pool, err := file.Beside(file.Path())
	if err != nil {
		return err
	}
	return errors.Join(prove.Hold(d.Context, pool, d.Process.Stdin, d.Process.Stdout), pool.Close())
}

// untriedError is the product of a database that prove does not support.
type untriedError string

func (e untriedError) Error() string { return "leat prove does not try " + string(e) }

func redact(f *prover.Finding) {
	for i, detail := range f.Details {
		f.Details[i] = settings.Redact(detail)
	}
}

// printProbe prints the result of a probe as wrapped lines, since it has sentences.
func printProbe(d *command.Deps, f prover.Finding) error {
	wrap := func(text, first, rest string) []string { return d.Wrap(show.Plain(text), first, rest) }
	return d.Lines(f.Lines(wrap, func(o prover.Outcome) string { return d.Paint(outcomeColor(o), string(o)) }))
}

func outcomeColor(o prover.Outcome) text.Color {
	switch o {
	case prover.OK:
		return text.FgGreen
	case prover.Broken:
		return text.FgRed
	default:
		return text.FgYellow
	}
}
