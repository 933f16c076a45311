package command

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Process is what a command has of its surroundings.
type Process struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	// Exit ends the process at once.
	Exit func(status int)
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
	Forwarder   string           `placeholder:"TOPIC" help:"Topic of Watermill's forwarder, if its table is the outbox (LEAT_FORWARDER), by default in schema public."`
	Output      string           `short:"o" placeholder:"FORM" help:"Form of results: table, json or jsonl (LEAT_OUTPUT). Defaults to table."`
	Time        string           `placeholder:"HOW" help:"Times in tables: relative, utc or local (LEAT_TIME). Defaults to relative."`
	Color       string           `placeholder:"WHEN" help:"Colours in tables: auto, always or never (LEAT_COLOR). Defaults to auto."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
	Timeout     Span             `placeholder:"DURATION" help:"How long one command may take, such as 30s. Defaults to no bound."`

	// KafkaBrokers are those of a command's own flag.
	KafkaBrokers string `kong:"-"`
}

// Settings are what the flags say.
func (g Globals) Settings() settings.Settings {
	said := func(flag, value string) settings.Text { return settings.Text{Value: value, From: "--" + flag} }
	return settings.Settings{
		Database: said("database", g.Database), Schema: said("schema", g.Schema), Outbox: said("outbox", g.Outbox),
		Inbox: said("inbox", g.InboxTable), Dedupe: said("dedupe", g.Dedupe), Forwarder: said("forwarder", g.Forwarder),
		Output: said("output", g.Output), Time: said("time", g.Time), Color: said("color", g.Color),
		Kafka: settings.Kafka{Brokers: said("brokers", g.KafkaBrokers)},
	}
}

// Changing are the flags of commands that change something.
type Changing struct {
	Reason string `required:"" placeholder:"TEXT" help:"Why. It is stored in the audit."`
	Actor  string `placeholder:"NAME" help:"Who asks (LEAT_ACTOR). Defaults to user@host."`
	DryRun bool   `help:"Say what would be changed, and change nothing."`
	Yes    bool   `short:"y" help:"Do not ask for confirmation. Required if standard input is not a terminal."`
}

// Validate refuses blanks in the place of a reason or an actor, before anything is opened.
func (c Changing) Validate() error {
	for flag, value := range map[string]string{"--reason": c.Reason, "--actor": c.Actor} {
		if value != "" && strings.TrimSpace(value) == "" {
			return Usage(flag, value, "must not be blank")
		}
	}
	return nil
}

// Paging are the flags of lists.
type Paging struct {
	Limit int    `default:"100" placeholder:"N" help:"Rows of a page, 1 to 10000."`
	After string `placeholder:"CURSOR" help:"Go on behind the page that named this as next."`
	All   bool   `help:"All pages; as jsonl, row by row."`
}
