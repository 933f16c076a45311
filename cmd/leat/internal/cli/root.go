package cli

import (
	"github.com/leat-go/leat/cmd/leat/internal/cli/changes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/cli/diagnose"
	"github.com/leat-go/leat/cmd/leat/internal/cli/groups"
	"github.com/leat-go/leat/cmd/leat/internal/cli/held"
	"github.com/leat-go/leat/cmd/leat/internal/cli/inboxes"
	"github.com/leat-go/leat/cmd/leat/internal/cli/messages"
	"github.com/leat-go/leat/cmd/leat/internal/cli/replay"
	"github.com/leat-go/leat/cmd/leat/internal/cli/schema"
	"github.com/leat-go/leat/cmd/leat/internal/cli/serve"
)

// Root is the command line.
type Root struct {
	command.Globals

	Run    serve.Run    `cmd:"" help:"Run relays and maintenance as the file describes, until SIGTERM."`
	Relay  serve.Relay  `cmd:"" help:"Run one relay group without a file, to Kafka, RabbitMQ, Redis or NATS, until SIGTERM."`
	Health serve.Health `cmd:"" help:"Ask a daemon on this machine whether it is ready; exit status 1 if not."`

	Status    diagnose.Status   `cmd:"" help:"Health of the outbox and of its relay groups."`
	Explain   diagnose.Explain  `cmd:"" help:"Why something is not sent, and what to do; exit status 5 if anything stands still."`
	Bundle    Bundle            `cmd:"" help:"Write one file for support: figures, findings, configuration, metrics; without messages and secrets."`
	Trace     messages.Trace    `cmd:"" help:"Where a message is: enqueued, sent, held, processed."`
	Doctor    diagnose.Doctor   `cmd:"" help:"Check schemas, server, log and groups, and say what to do; exit status 5 if something fails."`
	Prove     diagnose.Prove    `cmd:"" help:"Try on a server, in scratch tables, what leat rests on; exit status 5 if a promise breaks, 6 if something could not be tried."`
	Groups    groups.Groups     `cmd:"" help:"Relay groups: list, pause, resume, limit, remove."`
	Parked    held.Parked       `cmd:"" help:"Records that wait for an operator: list, redrive, skip, drop."`
	Dead      held.Dead         `cmd:"" help:"Records that were given up: list, redrive, drop."`
	Delayed   held.Delayed      `cmd:"" help:"Messages that are not due yet: list, show, cancel."`
	Messages  messages.Messages `cmd:"" help:"Messages of the log: search, show, export."`
	Erase     messages.Erase    `cmd:"" help:"Delete a person's data: messages with a key, id or header, in outbox and inbox."`
	Audit     changes.Audit     `cmd:"" help:"Who did what to which record, and why."`
	Migrate   schema.Migrate    `cmd:"" help:"Schemas of outbox, inbox and dedupe: up, status, sql."`
	Replay    replay.Replay     `cmd:"" help:"Send retained history to Kafka once more."`
	Rebase    groups.Rebase     `cmd:"" help:"Make a relay group usable after its database was moved or restored."`
	Adopt     schema.Adopt      `cmd:"" help:"Take over an outbox table of your own, with its producers untouched, or give it back."`
	Debezium  schema.Debezium   `cmd:"" help:"Go over from Debezium to a relay, or back, step by step."`
	Retention schema.Retention  `cmd:"" help:"What the log retains, and who holds it back."`
	Inbox     inboxes.Inbox     `cmd:"" help:"Inboxes: consumers, attempts, parked messages, positions, retention."`
	Dash      serve.Dash        `cmd:"" help:"Serve the dashboard and its API."`
	Config    serve.Config      `cmd:"" help:"The configuration file: lint, show, schema."`

	Completion Completion `cmd:"" help:"Print the code that makes a shell complete leat's commands."`
	Version    Version    `cmd:"" help:"Print the version."`
}
