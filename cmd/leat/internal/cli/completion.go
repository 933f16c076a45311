package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/posener/complete"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/cli/inboxes"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox/admin"
)

// Completion is the command completion.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the code, to be evaluated in the start file of the shell.
func (c *Completion) Run(d *command.Deps) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	if c.Shell == "fish" {
		return d.Line(`function __complete_leat
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    %q
end
complete -f -c leat -a "(__complete_leat)"`, path)
	}
	if c.Shell == "zsh" {
		if err := d.Line("autoload -U +X bashcompinit && bashcompinit"); err != nil {
			return err
		}
	}
	return d.Line("complete -o default -o bashdefault -C %q leat", path)
}

// completionTime bounds the queries of the database while a shell waits.
const completionTime = 2 * time.Second

// predictors complete names from the database, and files.
func predictors(ctx context.Context, p command.Process) []kongcompletion.Option {
	from := func(names func(context.Context, *command.Deps) ([]string, error)) complete.Predictor {
		return complete.PredictFunc(func(complete.Args) []string { return predict(ctx, p, names) })
	}
	return []kongcompletion.Option{
		kongcompletion.WithPredictor("file", complete.PredictFiles("*")),
		kongcompletion.WithPredictor("group", from(groupNames)),
		kongcompletion.WithPredictor("topic", from(topicNames)),
		kongcompletion.WithPredictor("consumer", from(consumerNames)),
	}
}

// predict returns no names if the environment names no database, or if it does not answer soon: a shell
// cannot show errors.
func predict(ctx context.Context, p command.Process, names func(context.Context, *command.Deps) ([]string, error)) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	p.Stderr = io.Discard
	d, err := command.NewDeps(ctx, p, command.Globals{}, false)
	if err != nil {
		return nil
	}
	defer d.Close()
	found, err := names(ctx, d)
	if err != nil {
		return nil
	}
	return found
}

func groupNames(ctx context.Context, d *command.Deps) ([]string, error) {
	store, err := d.Store("")
	if err != nil {
		return nil, err
	}
	groups, err := store.Groups(ctx)
	return command.RowsOf(groups, func(g admin.Group) string { return g.Name }), err
}

// topicNames are the topics of parked records and of the newest messages.
func topicNames(ctx context.Context, d *command.Deps) ([]string, error) {
	store, err := d.Store("")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	failures, err := store.Failures(ctx, admin.FailuresQuery{})
	if err != nil {
		return nil, err
	}
	for _, f := range failures {
		seen[f.Topic] = true
	}
	if searcher, ok := store.(admin.Manager); ok {
		page, err := searcher.Search(ctx, admin.MessageQuery{Newest: true, OmitPayload: true, Limit: 1000, Scan: 1000})
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			seen[r.Topic] = true
		}
	}
	return command.SortedKeys(seen), nil
}

func consumerNames(ctx context.Context, d *command.Deps) ([]string, error) {
	in, err := inboxes.OpenInbox(d)
	if err != nil {
		return nil, err
	}
	consumers, err := in.Consumers(ctx, inboxadmin.ConsumersQuery{})
	return command.RowsOf(consumers, func(c inboxadmin.Consumer) string { return c.Name }), err
}

// completing reports whether a shell asks for completions.
func completing(p command.Process) bool {
	line, _ := p.LookupEnv("COMP_LINE")
	return line != ""
}

// complain handles errors of Register while completing.
func complain(w io.Writer) kongcompletion.Option {
	return kongcompletion.WithErrorHandler(func(err error) { _, _ = fmt.Fprintln(w, "leat:", err) })
}
