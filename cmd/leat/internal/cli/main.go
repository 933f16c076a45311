// Package cli is the command leat. Each command is a struct, whose method Run executes it.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
)

// description is the first text of --help.
const description = "Operates transactional outboxes and inboxes. What changes records, groups or positions needs --reason, and is audited; " +
	"migrate up, retention run and inbox retention enable take none."

// Main runs the command named by p.Args, and returns the exit status.
func Main(ctx context.Context, p command.Process) int {
	exited := -1
	root := &Root{}
	parser, err := NewParser(root, p.Stdout, p.Stderr, func(status int) { exited = status })
	if err != nil {
		_, _ = fmt.Fprintf(p.Stderr, "leat: %v\n", err)
		return command.ExitFailed
	}
	if completing(p) {
		kongcompletion.Register(parser, append(predictors(ctx, p), complain(p.Stderr))...)
		return max(exited, command.ExitDone)
	}
	selected, err := parser.Parse(p.Args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		_, _ = fmt.Fprintf(p.Stderr, "leat: %v\n", err)
		return command.ExitUsage
	}
	// config lint must run even if the file is wrong.
	lenient := strings.HasPrefix(selected.Command(), "config lint")
	deps, err := command.NewDeps(ctx, p, root.Globals, lenient)
	if err == nil {
		defer deps.Close()
		deps.Command, _, _ = strings.Cut(selected.Command(), " <")
		if command.TakesOutbox(deps.Command) {
			err = deps.NameOutbox()
		}
		if err == nil {
			err = selected.Run(deps)
		}
	}
	return command.Status(ctx, p.Stderr, err)
}

// NewParser returns the parser of root.
func NewParser(root *Root, stdout, stderr io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(root,
		kong.Name("leat"), kong.Description(description), kong.Writers(stdout, stderr), kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true, WrapUpperBound: helpWidth}),
		kong.Help(help), kong.PostBuild(layOut),
		kong.ValueFormatter(WithDefault), kong.Vars{"version": versionHere()},
	)
}

// WithDefault is the help of a flag or argument, including its default.
func WithDefault(value *kong.Value) string {
	if !value.HasDefault || value.Default == "" {
		return value.Help
	}
	return value.Help + " Defaults to " + value.Default + "."
}
