package cli

import "github.com/alecthomas/kong"

// Root is the command line.
type Root struct {
	Globals

	Run    Run    `cmd:"" help:"Run relays and maintenance as the file describes, until SIGTERM."`
	Relay  Relay  `cmd:"" help:"Run one relay group without a file, to Kafka, RabbitMQ, Redis or NATS, until SIGTERM."`
	Health Health `cmd:"" help:"Ask a daemon on this machine whether it is ready, or lives; exit status 1 if not."`

	Status    Status    `cmd:"" help:"Health of the outbox and of its relay groups."`
	Explain   Explain   `cmd:"" help:"Why something is not sent, and what to do: all that stands still, or one id, key or topic; exit status 5 if anything stands still."`
	Trace     Trace     `cmd:"" help:"Where a message is: enqueued, sent, held, processed."`
	Doctor    Doctor    `cmd:"" help:"Check schemas, server, log and groups, and say what to do; exit status 5 if something fails."`
	Groups    Groups    `cmd:"" help:"Relay groups: list, pause, resume, limit, remove."`
	Parked    Parked    `cmd:"" help:"Records that wait for an operator: list, redrive, skip, drop."`
	Dead      Dead      `cmd:"" help:"Records that were given up: list, redrive, drop."`
	Delayed   Delayed   `cmd:"" help:"Messages that are not due yet: list, show, cancel."`
	Messages  Messages  `cmd:"" help:"Messages of the log: search, show, export."`
	Erase     Erase     `cmd:"" help:"Delete what is stored of a person: messages with a key, an id or a header, in outbox and inbox."`
	Audit     Audit     `cmd:"" help:"Who did what to which record, and why."`
	Migrate   Migrate   `cmd:"" help:"Schemas of outbox, inbox and dedupe: up, status, sql."`
	Replay    Replay    `cmd:"" help:"Send retained history to Kafka once more."`
	Rebase    Rebase    `cmd:"" help:"Make a relay group usable again after its database was moved or restored."`
	Adopt     Adopt     `cmd:"" help:"Take over an outbox table of your own, with its producers untouched, or give it back."`
	Debezium  Debezium  `cmd:"" help:"Go over from Debezium to a relay, or back, step by step."`
	Retention Retention `cmd:"" help:"What the log retains, and who holds it back."`
	Inbox     Inbox     `cmd:"" help:"Inboxes: consumers, attempts, parked messages, positions, retention."`
	Dash      Dash      `cmd:"" help:"Serve the dashboard and its API, on this machine unless told otherwise."`
	Config    Config    `cmd:"" help:"The configuration file: lint, show, schema."`

	Completion Completion `cmd:"" help:"Print the code that makes a shell complete leat's commands."`
	Version    Version    `cmd:"" help:"Print the version."`
}

// Globals are the flags of all commands. What a flag does not say, a variable does, then
// the file.
type Globals struct {
	ConfigFile  string           `name:"config" placeholder:"FILE" help:"Configuration file (LEAT_CONFIG)." predictor:"file"`
	Profile     string           `placeholder:"NAME" help:"Profile of the file (LEAT_PROFILE)."`
	Database    string           `placeholder:"URL" help:"Database, without a password (LEAT_DATABASE_URL, which may have one; PG* variables): postgres://, mysql://, mariadb:// or sqlite:PATH."`
	Schema      string           `placeholder:"NAME" help:"Schema of the tables, on PostgreSQL (LEAT_SCHEMA). Defaults to leat."`
	Outbox      string           `placeholder:"NAME" help:"Name of the outbox (LEAT_OUTBOX). Defaults to outbox, or leat_outbox where there are no schemas."`
	InboxTable  string           `name:"inbox" placeholder:"NAME" help:"Name of the inbox (LEAT_INBOX). Defaults to inbox, or leat_inbox where there are no schemas."`
	Dedupe      string           `placeholder:"NAME" help:"Name of the dedupe table (LEAT_DEDUPE). Defaults to dedupe, or leat_dedupe where there are no schemas."`
	Forwarder   string           `placeholder:"TOPIC" help:"Topic of Watermill's forwarder, if its table is the outbox (LEAT_FORWARDER); its schema defaults to public."`
	Output      string           `short:"o" placeholder:"FORM" help:"Form of results: table, json or jsonl (LEAT_OUTPUT). Defaults to table."`
	Time        string           `placeholder:"HOW" help:"Times in tables: relative, utc or local (LEAT_TIME). Defaults to relative."`
	Color       string           `placeholder:"WHEN" help:"Colours in tables: auto, always or never (LEAT_COLOR). Defaults to auto."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
	Timeout     Span             `placeholder:"DURATION" help:"How long one command may take, such as 30s. Defaults to no bound."`

	// kafkaBrokers are those of a command's own flag.
	kafkaBrokers string
}

// Changing are the flags of commands that change something.
type Changing struct {
	Reason string `required:"" placeholder:"TEXT" help:"Why. It is stored in the audit."`
	Actor  string `placeholder:"NAME" help:"Who asks (LEAT_ACTOR). Defaults to user@host."`
	DryRun bool   `help:"Say what would be changed, and change nothing."`
	Yes    bool   `short:"y" help:"Do not ask for confirmation. Required if standard input is no terminal."`
}

// Paging are the flags of lists.
type Paging struct {
	Limit int    `default:"100" placeholder:"N" help:"Rows of a page, 1 to 10000."`
	After string `placeholder:"CURSOR" help:"Go on after the page that ended here: what it named as next."`
	All   bool   `help:"All pages; as jsonl, row by row."`
}
