package readme_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestREADME checks that each Go block of the README stands in readme.go, which
// compiles.
func TestREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme.go")
	require.NoError(t, err)

	blocks := strings.Split(string(readme), "```go\n")[1:]
	require.Len(t, blocks, 3)
	for _, b := range blocks {
		code, _, closed := strings.Cut(b, "```")
		require.True(t, closed)
		require.Contains(t, unindented(string(source)), unindented(code))
	}
}

// unindented returns code without the blanks at the start of its lines.
func unindented(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// TestREADME_TellsWhatHelloPrints: the story in the README is the output that the test of
// ../hello wants.
func TestREADME_TellsWhatHelloPrints(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	test, err := os.ReadFile("../hello/main_test.go")
	require.NoError(t, err)

	_, output, found := strings.Cut(string(test), "\t// Output:\n")
	require.True(t, found)
	var story strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(output, "}\n")) {
		story.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "\t//"), " "))
	}
	require.Contains(t, string(readme), "\n```\n"+story.String()+"```\n")
}
