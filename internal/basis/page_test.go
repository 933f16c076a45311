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

var update = flag.Bool("update", false, "write the tables of docs/internals/moved.md again")

// TestPage: the tables of docs/internals/moved.md are those of the code. To write them again:
// go test ./internal/basis -run TestPage -update.
func TestPage(t *testing.T) {
	t.Parallel()
	const file, begin, end = "../../docs/internals/moved.md", "<!-- tables -->\n", "<!-- end -->"
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

// TestSQLSaysTheSame: what status shows of a position comes from SQL, which has texts of the table
// and no others.
func TestSQLSaysTheSame(t *testing.T) {
	t.Parallel()
	for file, facts := range map[string][]*basis.FactError{
		"pgoutbox/migrations/00001_outbox.sql": {basis.ErrOtherCluster, basis.ErrOtherDatabase, basis.ErrLogRestarted, basis.ErrWentBack, basis.ErrNumberedTwice},
		"pgoutbox/sql/slots.sql":               {basis.ErrNumberedTwice},
		"wmforward/sql/stats.sql":              {basis.ErrOtherCluster},
	} {
		raw, err := os.ReadFile("../../outbox/" + file)
		require.NoError(t, err)
		for _, f := range facts {
			require.Contains(t, string(raw), "THEN '"+strings.ReplaceAll(f.Says, "'", "''")+"'", file)
			found, ok := basis.Find("slot 0: " + f.Says + ", or so")
			require.True(t, ok)
			require.Equal(t, f, found)
		}
	}
	_, ok := basis.Find("something else")
	require.False(t, ok)
}

func tables() string {
	var says, where strings.Builder
	for _, f := range basis.Facts() {
		fmt.Fprintf(&says, "| *%s* | %s |\n", f.Says, f.Do)
		for _, u := range f.Uses {
			test := u.Test
			if test == "" {
				test = f.Check(u.Store) + "…"
			}
			at := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(u.At)), ", "), "[]")
			fmt.Fprintf(&where, "| %s | %s | %s | %s | %s | %s | `%s` |\n", f.Name, u.Store, f.Class, u.Noted, u.Seen, at, test)
		}
	}
	return "| the error says | what you do |\n|---|---|\n" + says.String() +
		"\n| fact | store | class | noted in | compared with | at | test |\n|---|---|---|---|---|---|---|\n" + where.String()
}
