package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// settings are what the flags say.
func (g Globals) settings() settings.Settings {
	said := func(flag, value string) settings.Text { return settings.Text{Value: value, From: "--" + flag} }
	return settings.Settings{
		Database: said("database", g.Database), Schema: said("schema", g.Schema), Outbox: said("outbox", g.Outbox),
		Inbox: said("inbox", g.InboxTable), Dedupe: said("dedupe", g.Dedupe), Forwarder: said("forwarder", g.Forwarder),
		Output: said("output", g.Output), Time: said("time", g.Time), Color: said("color", g.Color),
		Kafka: settings.Kafka{Brokers: said("brokers", g.kafkaBrokers)},
	}
}

// newPrinter prints as s says.
func newPrinter(p Process, s settings.Settings) (*show.Printer, error) {
	for _, choice := range printing(s) {
		if !slices.Contains(choice.of, choice.text.Value) {
			return nil, usage(choice.text.From, choice.text.Value, "must be "+strings.Join(choice.of, ", "))
		}
	}
	noColor, _ := p.LookupEnv("NO_COLOR")
	dumb, _ := p.LookupEnv("TERM")
	auto := terminal(p.Stdout) && noColor == "" && dumb != "dumb"
	return &show.Printer{
		Out: p.Stdout, Notes: p.Stderr, Format: show.Format(s.Output.Value), Times: show.Times(s.Time.Value),
		Color: s.Color.Value == "always" || s.Color.Value == "auto" && auto,
		Width: width(p.Stdout), Now: time.Now,
	}, nil
}

// choice is a setting with few values.
type choice struct {
	name string
	text settings.Text
	of   []string
}

func printing(s settings.Settings) []choice {
	return []choice{
		{"output", s.Output, []string{"table", "json", "jsonl"}},
		{"time", s.Time, []string{"relative", "utc", "local"}},
		{"color", s.Color, []string{"auto", "always", "never"}},
	}
}
