package command

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Process is the environment of a command.
type Process struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	// Exit ends the process at once.
	Exit func(status int)
}

// Globals are the flags of all commands. A setting without a flag is taken from a variable, and then from
// the file.
type Globals struct {
	ConfigFile  string           `name:"config" placeholder:"FILE" help:"Configuration file (LEAT_CONFIG)." predictor:"file"`
	Profile     string           `placeholder:"NAME" help:"Profile of the file (LEAT_PROFILE)."`
	Database    string           `placeholder:"URL" help:"postgres://, mysql://, mariadb:// or sqlite:PATH, without a password (LEAT_DATABASE_URL may have one; or PG* variables)."`
	Schema      string           `placeholder:"NAME" help:"Schema, on PostgreSQL (LEAT_SCHEMA). Defaults to leat."`
	Outbox      string           `placeholder:"NAME" help:"Outbox (LEAT_OUTBOX). Defaults to outbox, or leat_outbox without schemas."`
	InboxTable  string           `name:"inbox" placeholder:"NAME" help:"Inbox (LEAT_INBOX). Defaults to inbox, or leat_inbox without schemas."`
	Dedupe      string           `placeholder:"NAME" help:"Dedupe table (LEAT_DEDUPE). Defaults to dedupe, or leat_dedupe without schemas."`
	Forwarder   string           `placeholder:"TOPIC" help:"Topic of Watermill's forwarder, if its table is the outbox; its schema defaults to public (LEAT_FORWARDER)."`
	Output      string           `short:"o" placeholder:"FORM" help:"table, json or jsonl (LEAT_OUTPUT). Defaults to table."`
	Time        string           `placeholder:"HOW" help:"Times in tables: relative, utc or local (LEAT_TIME). Defaults to relative."`
	Color       string           `placeholder:"WHEN" help:"Colours in tables: auto, always or never (LEAT_COLOR). Defaults to auto."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
	Timeout     Span             `placeholder:"DURATION" help:"Longest time of a command, such as 30s. Defaults to no bound."`

	// KafkaBrokers are the brokers of a command's own flag.
	KafkaBrokers string `kong:"-"`
}

// Settings returns the settings that the flags set.
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
	Reason string `required:"" placeholder:"TEXT" help:"Why, for the audit."`
	Actor  string `placeholder:"NAME" help:"Who asks (LEAT_ACTOR). Defaults to user@host."`
	DryRun bool   `help:"Show what would change; change nothing."`
	Yes    bool   `short:"y" help:"Do not ask. Required without a terminal."`
}

// Validate rejects a blank reason or actor, before anything is opened.
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
	After string `placeholder:"CURSOR" help:"Continue after the page that named this as next."`
	All   bool   `help:"All pages; as jsonl, row by row."`
}
