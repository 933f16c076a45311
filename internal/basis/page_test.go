package basis_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
)

var update = flag.Bool("update", false, "write the tables of docs/moved.md again")

// TestPage: the tables of docs/moved.md are those of the code. To write them again:
// go test ./internal/basis -run TestPage -update.
func TestPage(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../../docs/moved.md", "<!-- tables -->\n", "<!-- end -->"
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(raw), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	page := before + begin + tables() + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
		return
	}
	require.Equal(t, page, string(raw), "write it again: go test ./internal/basis -run TestPage -update")
}

func tables() string {
	var says, where strings.Builder
	for _, f := range basis.Facts() {
		fmt.Fprintf(&says, "| *%s* | %s |\n", f.Says, f.Do)
		for _, u := range f.Uses {
			test := u.Test
			if test == "" {
				test = "O2_Moved" + f.Name + "…"
			}
			at := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(u.At)), ", "), "[]")
			fmt.Fprintf(&where, "| %s | %s | %s | %s | %s | %s | `%s` |\n", f.Name, u.Store, f.Class, u.Noted, u.Seen, at, test)
		}
	}
	return "| the error says | what you do |\n|---|---|\n" + says.String() +
		"\n| fact | store | class | noted in | compared with | at | test |\n|---|---|---|---|---|---|---|\n" + where.String()
}
