package command

import (
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// newPrinter returns a printer with the settings s.
func newPrinter(p Process, s settings.Settings) (*show.Printer, error) {
	for _, choice := range Printing(s) {
		if !slices.Contains(choice.Of, choice.Text.Value) {
			return nil, Usage(choice.Text.From, choice.Text.Value, "must be "+strings.Join(choice.Of, ", "))
		}
	}
	noColor, _ := p.LookupEnv("NO_COLOR")
	dumb, _ := p.LookupEnv("TERM")
	auto := terminal(p.Stdout) && noColor == "" && dumb != "dumb"
	return &show.Printer{
		Out: p.Stdout, Notes: p.Stderr, Format: show.Format(s.Output.Value), Times: show.Times(s.Time.Value),
		Color: s.Color.Value == "always" || s.Color.Value == "auto" && auto,
		Width: Width(p.Stdout), Now: time.Now,
	}, nil
}

// Choice is a setting with a fixed set of values.
type Choice struct {
	Name string
	Text settings.Text
	Of   []string
}

// Printing returns the settings of the output, each with its values.
func Printing(s settings.Settings) []Choice {
	return []Choice{
		{"output", s.Output, []string{"table", "json", "jsonl"}},
		{"time", s.Time, []string{"relative", "utc", "local"}},
		{"color", s.Color, []string{"auto", "always", "never"}},
	}
}
