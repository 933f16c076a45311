package examples_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPort: the change that the documentation shows is the one of the example, without what returns and closes.
func TestPort(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/from-watermill-forwarder.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "<!-- from: examples/wmforward/main.go -->\n```diff\n")
	require.True(t, found)
	diff, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	sides := map[string][]string{}
	for line := range strings.Lines(diff) {
		sides[line[:1]] = append(sides[line[:1]], strings.TrimSpace(line[1:]))
	}
	source, err := os.ReadFile("wmforward/main.go")
	require.NoError(t, err)
	require.Equal(t, statements(t, string(source), "newForwarder", "fwd, err := "), sides["-"])
	require.Equal(t, statements(t, string(source), "takeOver", "r, err := "), sides["+"])
	require.Len(t, sides, 2)
}

// statements returns the lines of a function up to the one that begins with last.
func statements(t *testing.T, source, function, last string) (lines []string) {
	t.Helper()
	_, body, found := strings.Cut(source, "\nfunc "+function+"(")
	require.True(t, found)
	body, _, _ = strings.Cut(body, "\n}\n")
	all := slices.Collect(strings.SplitSeq(body, "\n"))[1:]
	for i := 0; i < len(all); i++ {
		line := strings.TrimSpace(all[i])
		switch {
		case line == "if err != nil {":
			i += 2
		case strings.HasPrefix(line, "//"), strings.HasPrefix(line, "defer "):
		default:
			lines = append(lines, line)
		}
		if strings.HasPrefix(line, last) {
			return lines
		}
	}
	require.Fail(t, "no such line", "%s: %s", function, last)
	return nil
}
