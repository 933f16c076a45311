package main_test

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
)

// The help of each command begins with what it does, has examples that are right, and ends with the flags
// of all commands.
func TestHelp(t *testing.T) {
	t.Parallel()
	parser, err := cli.NewParser(&cli.Root{}, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	another, err := cli.NewParser(&cli.Root{}, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	total := 0
	for _, leaf := range parser.Model.Leaves(true) {
		examples := cli.Examples(leaf)
		require.NotEmpty(t, examples, leaf.FullPath())
		total += len(examples)
		for _, example := range examples {
			selected, err := another.Parse(words(example))
			require.NoError(t, err, example)
			require.Equal(t, leaf.FullPath(), selected.Selected().FullPath(), example)
		}
		r := newSession(t, "").leat(append(path(leaf), "--help")...)
		require.Zero(t, r.code, r.err)
		unwrapped := strings.Join(strings.Fields(r.out), " ")
		require.True(t, strings.HasPrefix(unwrapped, leaf.Help+" Usage: "), r.out)
		require.Contains(t, r.out, "leat "+examples[0]+"\n")
		own, all, ok := strings.Cut(r.out, "Flags of all commands:")
		require.True(t, ok, r.out)
		require.Contains(t, all, "--database")
		require.NotContains(t, own, "--database")
	}
	r := newSession(t, "").leat("--help")
	require.True(t, strings.HasPrefix(r.out, "Operates transactional outboxes"), r.out)
	require.Less(t, strings.Index(r.out, "explain"), strings.Index(r.out, "--database"))
	require.Greater(t, total, 70)
}

func path(leaf *kong.Node) []string {
	return strings.Fields(strings.TrimPrefix(leaf.FullPath(), "leat "))
}

// words are those of a command at a shell, with texts in quotes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// A watch may say how often, or not.
func TestHelp_WatchAlone(t *testing.T) {
	t.Parallel()
	o := newSession(t, "postgres://ann@127.0.0.1:1/shop")
	for _, args := range [][]string{{"--watch=1ms"}, {"--watch", "1ms"}, {"--watch=0.001s", "--group", "g"}} {
		r := o.leat(append([]string{"status"}, args...)...)
		require.Equal(t, 2, r.code, r.err)
		require.Contains(t, r.err, `--watch "1ms": must be at least 100ms`)
	}
	require.Equal(t, 2, o.leat("status", "--watch=soon").code)
	for _, args := range [][]string{{"--watch"}, {"--watch", "--group", "g"}, {"--group", "g", "--watch"}} {
		r := o.leat(append([]string{"status", "-o", "json"}, args...)...)
		require.Contains(t, r.err, `--watch "2s": goes with -o table or jsonl`)
	}
}
