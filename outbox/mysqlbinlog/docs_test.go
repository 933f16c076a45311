package mysqlbinlog_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocs compares the page's code with the example, which compiles.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/change-logs.md")
	require.NoError(t, err)
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "<!-- compiled in: outbox/mysqlbinlog/example_test.go -->\n```go\n")
	require.True(t, found)
	code, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	require.Contains(t, string(example), code)
}
