package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Reference returns all commands and flags in Markdown, for docs/cli.md. A flag of several commands is
// described once.
func Reference(parser *kong.Kong) string {
	var page strings.Builder
	page.WriteString("### Flags of all commands\n\n")
	table(&page, parser.Model.Flags)
	leaves := parser.Model.Leaves(true)
	several := sharedFlags(leaves)
	page.WriteString("\n### Flags of several commands\n\n")
	table(&page, several)
	for _, leaf := range leaves {
		var args strings.Builder
		for _, arg := range leaf.Positional {
			args.WriteString(" " + arg.Summary())
		}
		fmt.Fprintf(&page, "\n### `%s%s`\n\n%s\n", leaf.FullPath(), args.String(), leaf.Help)
		for _, arg := range leaf.Positional {
			if help := WithDefault(arg); help != "" {
				fmt.Fprintf(&page, "\n- %s: %s\n", strings.ToUpper(arg.Name), help)
			}
		}
		own, shared := part(leaf.Flags, several)
		if len(own) > 0 {
			page.WriteString("\n")
			table(&page, own)
		}
		if len(shared) > 0 {
			fmt.Fprintf(&page, "\n[Shared](#flags-of-several-commands): `%s`\n", strings.Join(shared, " "))
		}
	}
	return page.String()
}

// fewest is how many commands must share a flag for it to be described once for all of them.
const fewest = 2

// sharedFlags returns the flags that several commands share, in the order of the commands. If flags with
// the same name and placeholder differ, it returns the one that most commands have.
func sharedFlags(leaves []*kong.Node) (several []*kong.Flag) {
	counts := map[string]int{}
	for _, leaf := range leaves {
		for _, flag := range leaf.Flags {
			counts[described(flag)]++
		}
	}
	at := map[string]int{}
	for _, leaf := range leaves {
		for _, flag := range leaf.Flags {
			i, known := at[flag.String()]
			switch {
			case flag.Hidden || counts[described(flag)] < fewest:
			case !known:
				at[flag.String()] = len(several)
				several = append(several, flag)
			case counts[described(flag)] > counts[described(several[i])]:
				several[i] = flag
			}
		}
	}
	return several
}

// part separates the flags of a command into its own, and the texts of those that it shares.
func part(flags, several []*kong.Flag) (own []*kong.Flag, shared []string) {
	known := map[string]bool{}
	for _, flag := range several {
		known[described(flag)] = true
	}
	for _, flag := range flags {
		if known[described(flag)] {
			shared = append(shared, strings.ReplaceAll(flag.String(), ", ", " "))
		} else {
			own = append(own, flag)
		}
	}
	return own, shared
}

// described returns the table row of a flag.
func described(flag *kong.Flag) string {
	help := WithDefault(flag.Value)
	if flag.Required {
		help += " Required."
	}
	return fmt.Sprintf("| `%s` | %s |\n", flag.String(), strings.ReplaceAll(help, "|", `\|`))
}

func table(page *strings.Builder, flags []*kong.Flag) {
	page.WriteString("| | |\n|---|---|\n")
	for _, flag := range flags {
		if !flag.Hidden {
			page.WriteString(described(flag))
		}
	}
}
