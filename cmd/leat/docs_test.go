package main_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
)

// docs/cli.md has the commands and flags that there are.
func TestDocs_Reference(t *testing.T) {
	t.Parallel()
	const page, mark = "../../docs/cli.md", "<!-- From here on: go test -C cmd/leat -run TestDocs -update . -->\n"
	parser, err := cli.NewParser(&cli.Root{}, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	head, reference, ok := strings.Cut(string(content), mark)
	require.True(t, ok)
	want := "\n" + cli.Reference(parser)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(head+mark+want), 0o600))
		return
	}
	require.Equal(t, want, reference)
}
