package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/metrics"
)

const pageFile = "../../docs/metrics.md"

var update = flag.Bool("update", false, "write the tables of docs/metrics.md again")

// section is a part of the page: the table of one kind of metrics.
func section(prefixes ...string) string {
	var b strings.Builder
	b.WriteString("\n| metric | kind | labels | what it is |\n|---|---|---|---|\n")
	for _, d := range metrics.Table() {
		for _, prefix := range prefixes {
			if strings.HasPrefix(d.Name, prefix) {
				help := d.Help
				if strings.HasPrefix(d.OTel, "messaging.") {
					help += " OpenTelemetry: `" + d.OTel + "`."
				}
				fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", d.Name, d.Kind, strings.Join(d.Labels, "` `"), help)
			}
		}
	}
	return b.String() + "\n"
}

// TestPage: the tables of docs/metrics.md are the table. To write them again:
// go test ./middleware/metrics -run TestPage -update.
func TestPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	page, rows := string(raw), 0
	for name, prefixes := range map[string][]string{
		"outbox": {"leat_outbox_"}, "relay": {"leat_relay_"},
		"consumers": {"leat_inbox_", "leat_source_", "leat_handler_", "leat_dedupe_", "leat_cache_"},
	} {
		begin, end := "<!-- metrics: "+name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(page, begin)
		require.True(t, ok, name)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok, name)
		want := section(prefixes...)
		rows += strings.Count(want, "\n| `")
		page = before + begin + want + end + after
	}
	require.Len(t, metrics.Table(), rows, "each row is in one table of the page")
	if *update {
		require.NoError(t, os.WriteFile(pageFile, []byte(page), 0o600))
		return
	}
	require.Equal(t, page, string(raw), "write it again: go test ./middleware/metrics -run TestPage -update")
}
