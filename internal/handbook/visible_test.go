package handbook_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

var update = flag.Bool("update", false, "write the tables of docs/internals/names.md again")

// TestNames_Tables: the tables of docs/internals/names.md are those of the migrations. To write them
// again: go test ./internal/handbook -run TestNames -update.
func TestNames_Tables(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../../" + handbook.NamesPage, "<!-- tables -->\n", "\n<!-- end -->"
	tables, err := handbook.TablesOf(os.DirFS("../.."))
	require.NoError(t, err)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(raw), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	page := before + begin + tables + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
		return
	}
	require.Equal(t, page, string(raw), "write it again: go test ./internal/handbook -run TestNames -update")
	require.Contains(t, tables, "| `outbox` | The outbox of leat")
	require.Contains(t, tables, "`xid` `seq` `created_at`")
	require.Contains(t, tables, "| `inbox_claim` |")
	require.NotContains(t, tables, "|  |", "each table has a comment")
}

// TestNames_AttributesAndHeaders: each is on the page, and nothing else.
func TestNames_AttributesAndHeaders(t *testing.T) {
	t.Parallel()
	wrong, looked, err := handbook.Visible(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
	require.Greater(t, looked, 60)
}

// TestNames_Convicts what is in one of both alone.
func TestNames_Convicts(t *testing.T) {
	t.Parallel()
	wrong, looked, err := handbook.Visible(fstest.MapFS{
		"docs/internals/names.md": {Data: []byte("## Headers\n\n| `old` | |\n\n## Log attributes\n\n| `topic` `gone` | |\n\n## Else\n\n| `x` | |\n")},
		"box/box.go": {Data: []byte("package box\n\nconst HeaderNew = \"new\"\n\n" +
			"func f() { slog.String(\"topic\", \"\"); slog.Int(\"more\", 1); slog.New(nil) }\n")},
	})
	require.NoError(t, err)
	require.Equal(t, 3, looked)
	require.Equal(t, []string{
		"docs/internals/names.md: attribute more is not on the page", "docs/internals/names.md: attribute gone is not in the sources",
		"docs/internals/names.md: header new is not on the page", "docs/internals/names.md: header old is not in the sources",
	}, wrong)
	_, _, err = handbook.Visible(fstest.MapFS{})
	require.Error(t, err)
}
