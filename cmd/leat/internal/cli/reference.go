package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Reference returns all commands and flags in Markdown, for docs/cli.md.
func Reference(parser *kong.Kong) string {
	var page strings.Builder
	page.WriteString("### Flags of all commands\n\n")
	table(&page, parser.Model.Flags)
	for _, leaf := range parser.Model.Leaves(true) {
		var args strings.Builder
		for _, arg := range leaf.Positional {
			args.WriteString(" " + arg.Summary())
		}
		fmt.Fprintf(&page, "\n### `%s%s`\n\n%s\n", leaf.FullPath(), args.String(), leaf.Help)
		for _, arg := range leaf.Positional {
			fmt.Fprintf(&page, "\n- %s: %s\n", strings.ToUpper(arg.Name), WithDefault(arg))
		}
		if len(leaf.Flags) > 0 {
			page.WriteString("\n")
			table(&page, leaf.Flags)
		}
	}
	return page.String()
}

func table(page *strings.Builder, flags []*kong.Flag) {
	page.WriteString("| flag | |\n|---|---|\n")
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		help := WithDefault(flag.Value)
		if flag.Required {
			help += " Required."
		}
		fmt.Fprintf(page, "| `%s` | %s |\n", flag.String(), strings.ReplaceAll(help, "|", `\|`))
	}
}
