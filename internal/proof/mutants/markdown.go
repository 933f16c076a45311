package mutants

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/testlevel"
)

const head = `# Mutations

Each line is a rule of leat that was broken on purpose, in one place of the sources,
and the test that noticed. ` + "`make mutants`" + ` runs each test as it is, where it must
pass, and then with the mutation; one that no test notices fails it. This file is written
by

` + "```sh" + `
make mutants ARGS=-markdown
` + "```" + `

The time is that of the test with the mutation, building included. *Fails* are the
promises of [guarantees.md](../guarantees.md) that do not hold any more; R12 is the mode that
is exactly once into Kafka, R8 retention, and *cost* a count of [performance.md](performance.md#what-is-counted).
*Level* is the level of the test: ` + "`make test`" + ` runs 0 and 1.
`

// Sentences of the page about the tests without a mutation.
const (
	proven   = "Each of the tests was run without its mutation first, in which it has to pass."
	unproven = "Here the tests were run with their mutations only (`-skip-baseline`)."
)

// Markdown writes results as the published table, area by area. levels are the result of [Levels]. If
// skippedBaseline is true, the page says that the tests were not run without a mutation.
func Markdown(w io.Writer, results []Result, levels map[string]testlevel.Level, skippedBaseline bool) error {
	byName := make(map[string]*Result, len(results))
	killed, early := 0, 0
	for i := range results {
		byName[results[i].Mutant.Name] = &results[i]
		if results[i].Verdict == Killed {
			killed++
			if levels[results[i].Mutant.Name] <= testlevel.Servers {
				early++
			}
		}
	}
	var b strings.Builder
	b.WriteString(head)
	baseline := proven
	if skippedBaseline {
		baseline = unproven
	}
	fmt.Fprintf(&b, "\n%d mutations, %d noticed, %d of them by a test of level 0 or 1. %s\n", len(results), killed, early, baseline)
	for _, area := range Areas() {
		writeArea(&b, area, byName, levels)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeArea(b *strings.Builder, area Area, byName map[string]*Result, levels map[string]testlevel.Level) {
	fmt.Fprintf(b, "\n## %s\n\n| mutation | in | fails | noticed by | level | time |\n|---|---|---|---|---|---|\n", area.Title)
	for i := range area.Mutants {
		m := &area.Mutants[i]
		r := byName[m.Name]
		if r == nil {
			continue
		}
		noticed := "`" + m.Test + "`"
		if r.Verdict != Killed {
			noticed = "**" + r.Verdict.String() + "**: " + noticed
		}
		fmt.Fprintf(b, "| %s | `%s` | %s | %s | %d | %s |\n", m.Change, m.File, strings.Join(m.Breaks, ", "), noticed, levels[m.Name], r.Took.Round(100*time.Millisecond))
	}
}
