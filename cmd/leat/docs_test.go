package main_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// docs/cli.md has the commands and flags that there are.
func TestDocs_Reference(t *testing.T) {
	t.Parallel()
	parser, err := cli.NewParser(&cli.Root{}, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	compare(t, "../../docs/cli.md", cli.Reference(parser))
}

// docs/daemon.md has the fields that there are, and its examples are right.
func TestDocs_Daemon(t *testing.T) {
	t.Parallel()
	const page = "../../docs/daemon.md"
	compare(t, page, settings.Reference())
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	examples := strings.Split(string(content), "```yaml\n")[1:]
	require.NotEmpty(t, examples)
	for _, example := range examples {
		text, _, _ := strings.Cut(example, "```")
		r := lint(t, text, "LEAT_DATABASE_URL=postgres://leat@db/shop", "LEAT_KAFKA_BROKERS=k1:9092")
		require.Zero(t, r.code, r.out+r.err)
	}
}

// Whoever comes with another language learns at once what brings the functions there, what relays, and what says why something is not sent.
func TestDocs_AnyLanguageNamesTheWay(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/any-language.md")
	require.NoError(t, err)
	head, _, ok := strings.Cut(string(content), "\n## ")
	require.True(t, ok)
	for _, command := range []string{"`leat migrate up`", "`leat run`", "`leat explain`"} {
		require.Contains(t, head, command)
	}
}

// compare compares the end of a page with what is generated.
func compare(t *testing.T, page, generated string) {
	t.Helper()
	const mark = "<!-- From here on: go test -C cmd/leat -run TestDocs -update . -->\n"
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	head, reference, ok := strings.Cut(string(content), mark)
	require.True(t, ok)
	want := "\n" + strings.TrimPrefix(generated, "\n")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+mark+want), 0o600))
		return
	}
	require.Equal(t, want, reference)
}
