package sqltest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/repo"
)

// Documented contains the SQL of a section of the documentation about grants.
type Documented struct {
	// Grants are the statements, by the suffix of their role, such as "relay".
	Grants map[string][]string
	// Triggers are the statements of the triggers that keep the numbers of tables.
	Triggers []string
}

var (
	sqlBlock  = regexp.MustCompile("(?s)```sql\n(.*?)```")
	grantTo   = regexp.MustCompile(`(?s)(GRANT [^;]+ TO )(\w+);`)
	delimited = regexp.MustCompile(`(?s)(CREATE TRIGGER .*?)//`)
)

// DocumentedGrants reads the section with this heading of a page.
func DocumentedGrants(tb testing.TB, page, heading string) Documented {
	tb.Helper()
	root, err := repo.Root(".")
	require.NoError(tb, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", page)) //nolint:gosec // our own sources
	require.NoError(tb, err)
	_, section, found := strings.Cut(string(text), "\n### "+heading+"\n")
	require.True(tb, found, heading)
	section, _, _ = strings.Cut(section, "\n##")
	d := Documented{Grants: map[string][]string{}}
	for _, block := range sqlBlock.FindAllStringSubmatch(section, -1) {
		for _, grant := range grantTo.FindAllStringSubmatch(block[1], -1) {
			d.Grants[grant[2]] = append(d.Grants[grant[2]], grant[1])
		}
		for _, trigger := range delimited.FindAllStringSubmatch(block[1], -1) {
			d.Triggers = append(d.Triggers, trigger[1])
		}
	}
	require.NotEmpty(tb, d.Grants, heading)
	return d
}

// As opens a pool for a new user with the grants of these roles and no others. The user is dropped at the
// end of the test.
func (d Documented) As(tb testing.TB, root *sql.DB, config *mysql.Config, roles ...string) *sql.DB {
	tb.Helper()
	name := roles[0][:1] + config.DBName[len("leat_test_"):][:17]
	run := func(ctx context.Context, statement string) {
		_, err := root.ExecContext(ctx, statement)
		require.NoError(tb, err, statement)
	}
	run(tb.Context(), "CREATE USER '"+name+"' IDENTIFIED BY ''")
	tb.Cleanup(func() { run(context.WithoutCancel(tb.Context()), "DROP USER '"+name+"'") })
	for _, role := range roles {
		require.NotEmpty(tb, d.Grants[role], role)
		for _, grant := range d.Grants[role] {
			run(tb.Context(), grant+"'"+name+"'")
		}
	}
	own := config.Clone()
	own.User, own.Passwd = name, ""
	return OpenMySQL(tb, own, nil)
}
