package sqlfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inApplication are the statements that run in sessions and transactions of the application, with
// its search path, and those of a relay, which can set nothing behind a pooler. All others set
// theirs (package pgpin, and sessions of leat's own).
var inApplication = []string{
	"dedupe/pgdedupe/sql/*.sql", "dedupe/pgdedupe/http/sql/*.sql", "inbox/pgwatermark/sql/*.sql",
	"inbox/pginbox/sql/*.sql", "inbox/internal/pgclaim/sql/*.sql", "inbox/internal/pgpark/sql/[ahnr]*.sql", "inbox/internal/pgpark/sql/park*.sql",
	"outbox/pgoutbox/sql/*.sql", "outbox/internal/pgheld/sql/*.sql", "outbox/internal/pglease/sql/*.sql",
}

var (
	// loose are functions of PostgreSQL that take arguments of any type: another function of the
	// same name in the search path can match them better. unnest of several arrays is always
	// PostgreSQL's.
	loose = regexp.MustCompile(`(?i)(?:^|[^.\w])((?:array_agg|array_position|array_length|cardinality|concat|concat_ws|format|jsonb?_agg|jsonb?_build_object|jsonb?_object_agg|num_nulls|to_jsonb?)\(|unnest\([^,()]*\))`)
	// mixed are operators with arguments of two types for which PostgreSQL has none that takes
	// them as they are.
	mixed = regexp.MustCompile(`(?i)\S+ \* interval|extract\([^()]*(?:\([^()]*\))?[^()]*\) \* \d+\b[^.]`)
)

// calls checks a statement by rule S12: no function or operator of a stranger can take the place
// of PostgreSQL's.
func calls(sql string) error {
	sql = text.ReplaceAllString(comment.ReplaceAllString(sql, ""), "''")
	if found := loose.FindStringSubmatch(sql); found != nil {
		return fmt.Errorf("%s takes arguments of any type: write pg_catalog.%s", found[1], found[1])
	}
	for _, found := range mixed.FindAllString(sql, -1) {
		if strings.HasSuffix(found, "::float8 * interval") {
			continue
		}
		return fmt.Errorf("%q: PostgreSQL has no operator for these types as they are: cast the number to float8, or write 1000000.0", found)
	}
	return nil
}

// TestS12_StatementsInTheApplication goes over the statements that run with a search path of
// others.
func TestS12_StatementsInTheApplication(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	for _, pattern := range inApplication {
		files, err := fs.Glob(root, pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, name := range files {
			sql, err := fs.ReadFile(root, name)
			if err == nil {
				err = calls(string(sql))
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestS12_Calls(t *testing.T) {
	t.Parallel()
	for fine, statements := range map[bool][]string{
		false: {
			"SELECT array_agg(n)", "SELECT coalesce(array_agg(n), '{}')", "SELECT unnest($1::text[])", "SELECT concat_ws('/', a, b)",
			"SELECT now() + $1::bigint * interval '1 microsecond'", "SELECT (extract(epoch FROM now()) * 1000)::bigint",
		},
		true: {
			"SELECT pg_catalog.array_agg(n)", "SELECT pg_catalog.unnest($1::text[])", "SELECT * FROM unnest($1::text[], $2::int[]) AS m(a, b)",
			"-- array_agg(n)\nSELECT 'format('", "SELECT now() + $1::bigint::float8 * interval '1 s'", "SELECT (extract(epoch FROM now()) * 1000.0)::bigint",
		},
	} {
		for _, sql := range statements {
			require.Equal(t, fine, calls(sql) == nil, sql)
		}
	}
}

var (
	creates = regexp.MustCompile(`(?s)CREATE (?:OR REPLACE )?FUNCTION (\S+?)\((.*?)(?:\$leat\$|RETURN )`)
	carries = regexp.MustCompile(`SET search_path = pg_catalog, pg_temp\b`)
	bound   = regexp.MustCompile(`(?s)RETURN $`)
	definer = regexp.MustCompile(`SECURITY DEFINER`)
	revoked = regexp.MustCompile(`(?s)REVOKE ALL ON FUNCTION (.*?) FROM PUBLIC`)
)

// paths checks the functions of a file by rule S12: each sets its search path, or was bound to
// what it calls when it was made, or is called by those that set theirs and by nobody else.
func paths(sql string) error {
	sql = comment.ReplaceAllString(sql, "")
	var errs []error
	for _, f := range creates.FindAllStringSubmatch(sql, -1) {
		inner := slices.ContainsFunc(revoked.FindAllStringSubmatch(sql, -1), func(r []string) bool {
			return regexp.MustCompile(`(^|[\s,])` + regexp.QuoteMeta(f[1]) + `\(`).MatchString(r[1])
		})
		if !carries.MatchString(f[0]) && !bound.MatchString(f[0]) && (definer.MatchString(f[0]) || !inner) {
			errs = append(errs, fmt.Errorf("function %s runs with the caller's search path: add SET search_path = pg_catalog, pg_temp", f[1]))
		}
	}
	return errors.Join(errs...)
}

// TestS12_FunctionsSetTheirPath goes over the functions that leat creates in PostgreSQL.
func TestS12_FunctionsSetTheirPath(t *testing.T) {
	t.Parallel()
	root, functions := os.DirFS("../.."), 0
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".sql" || d.IsDir() {
			return err
		}
		sql, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		functions += len(creates.FindAllString(comment.ReplaceAllString(string(sql), ""), -1))
		if err := paths(string(sql)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	}))
	require.Greater(t, functions, 15)
}

func TestS12_Paths(t *testing.T) {
	t.Parallel()
	const body = "LANGUAGE plpgsql AS $leat$ BEGIN END $leat$;"
	require.Error(t, paths("CREATE FUNCTION f(a text) RETURNS text "+body))
	require.Error(t, paths("CREATE FUNCTION f(a text) RETURNS text SECURITY DEFINER "+body+" REVOKE ALL ON FUNCTION f(text) FROM PUBLIC"))
	require.NoError(t, paths("CREATE FUNCTION f(a text) RETURNS text "+body+" REVOKE ALL ON FUNCTION g(), f(text) FROM PUBLIC"))
	require.NoError(t, paths("CREATE FUNCTION f(a text) RETURNS text SET search_path = pg_catalog, pg_temp "+body))
	require.NoError(t, paths("CREATE FUNCTION f(a text) RETURNS text LANGUAGE sql RETURN upper(a)"))
}
