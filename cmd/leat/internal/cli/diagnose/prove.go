package diagnose

import (
	"fmt"
	"os/signal"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/prove"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// Prove is the command prove.
type Prove struct {
	Only     string       `placeholder:"PATTERN" help:"Probes whose names match, such as 'locks.*'."`
	Workload command.Span `default:"20s" placeholder:"DURATION" help:"For how long the workload produces; 0 leaves it out."`
}

// proof is the JSON of all findings.
type proof struct {
	Server   string          `json:"server"`
	Outcome  prove.Outcome   `json:"outcome"`
	Findings []prove.Finding `json:"findings"`
}

// Run tries the server.
func (c *Prove) Run(d *command.Deps) error {
	if _, err := path.Match(c.Only, ""); err != nil {
		return command.Usage("--only", c.Only, "must be a pattern such as 'locks.*'")
	}
	db, err := d.Open()
	if err != nil {
		return err
	}
	server, err := serverOf(db)
	if err != nil {
		return err
	}
	// Whoever reads our output may go: then a write fails, and what we have made is still removed.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)
	about := server.About(d.Context)
	if d.Format == show.Table {
		if err := d.Paragraph("%s", show.Plain(about)); err != nil {
			return err
		}
	}
	found, err := prove.Run(d.Context, server, prove.Options{
		Only: c.Only, Workload: time.Duration(c.Workload),
		Around: func(name string, do func() error) error { return d.Bar(name, "", 0).Spin(do) },
		Tell: func(f prove.Finding) error {
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
	worst := prove.Worst(found)
	if d.Format == show.JSON {
		if err := d.Document(proof{about, worst, found}); err != nil {
			return err
		}
	}
	switch worst {
	case prove.Broken:
		return command.ErrFindings
	case prove.CouldNotTry:
		return command.ErrUnknown
	default:
		return nil
	}
}

// serverOf is the server of a database that can be tried.
func serverOf(db open.Database) (prove.Server, error) {
	switch db := db.(type) {
	case *open.Postgres:
		return prove.Postgres(db.Pool), nil
	default:
		return nil, command.UsageError{Err: untriedError(db.Product())}
	}
}

// untriedError is the product of a database that cannot be tried.
type untriedError string

func (e untriedError) Error() string {
	return "leat prove tries PostgreSQL, and what speaks its protocol, and not " + string(e) + " yet"
}

func redact(f *prove.Finding) {
	for i, detail := range f.Details {
		f.Details[i] = settings.Redact(detail)
	}
}

// printProbe prints what a probe has found: they are sentences.
func printProbe(d *command.Deps, f prove.Finding) error {
	const name, outcome = 16, 15
	indent := strings.Repeat(" ", name+outcome)
	first := fmt.Sprintf("%-*s", name, f.Probe) + d.Paint(outcomeColor(f.Outcome), string(f.Outcome)) + strings.Repeat(" ", outcome-len(f.Outcome))
	lines := []string{strings.TrimRight(first, " ")}
	for i, detail := range f.Details {
		wrapped := d.Wrap(show.Plain(detail), indent, indent+"  ")
		if i == 0 {
			lines, wrapped[0] = nil, first+strings.TrimPrefix(wrapped[0], indent)
		}
		lines = append(lines, wrapped...)
	}
	if f.Advice != "" {
		lines = append(lines, d.Wrap(show.Plain(f.Advice), indent+"→ ", indent+"  ")...)
	}
	return d.Lines(lines)
}

func outcomeColor(o prove.Outcome) text.Color {
	switch o {
	case prove.OK:
		return text.FgGreen
	case prove.Broken:
		return text.FgRed
	default:
		return text.FgYellow
	}
}
