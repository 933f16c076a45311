package sqlfile_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notPrimary are the directories of statements that rule R13 does not cover. Those of MySQL, MariaDB
// and SQLite decide in transactions that may write, or name their server (rule R14): see
// TestR14_NeverReadOnly, and TestR14_ReadsOutsideOfTransactions of both stores.
var notPrimary = map[string]string{
	"cmd/leat/internal/open/sql":     "leat doctor shows, and decides nothing",
	"dedupe/sqldedupe/sql":           "MySQL, MariaDB and SQLite",
	"inbox/sqlinbox/sql":             "MySQL, MariaDB and SQLite",
	"internal/proof/chaos/roles/sql": "a test",
	"internal/sqlstore/sql":          "MySQL, MariaDB and SQLite",
	"outbox/internal/sqllog/sql":     "MySQL, MariaDB and SQLite",
	"outbox/sqlforward/sql":          "MySQL and MariaDB",
	"outbox/sqloutbox/sql":           "MySQL, MariaDB and SQLite",
}

// readOnly are the files that begin transactions which are READ ONLY, and what for. Read/write
// splitters send such a transaction to a replica as a whole, so that nothing is decided by it.
var readOnly = map[string]string{
	"internal/sqlstore/store.go":       "on SQLite alone, which has one file",
	"internal/sqlstore/primary.go":     "asks whether it goes to a replica",
	"outbox/pgoutbox/search.go":        "shows, on the primary alone",
	"outbox/pgoutbox/groups_admin.go":  "shows what RemoveGroup would drop, on the primary alone",
	"outbox/pgoutbox/rebase_plan.go":   "shows what a Rebase would do, on the primary alone",
	"outbox/internal/pgheld/change.go": "shows what a request would change, on the primary alone",
	"outbox/adopt/postgres.go":         "shows what an adoption would do, on the primary alone",
}

var beginsReadOnly = regexp.MustCompile(`pgx\.ReadOnly\b|\bReadOnly: true|\.ReadOnly = [^f]|ReadOnly: readOnly`)

// TestR14_NeverReadOnly goes over the sources.
func TestR14_NeverReadOnly(t *testing.T) {
	t.Parallel()
	root, left := os.DirFS("../.."), maps.Clone(readOnly)
	for _, dir := range []string{"dedupe", "inbox", "internal", "outbox"} {
		require.NoError(t, fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/proof/") ||
				strings.HasPrefix(name, "internal/faultnet/") {
				return err
			}
			source, err := fs.ReadFile(root, name)
			if err == nil && beginsReadOnly.Match(source) {
				delete(left, name)
				if readOnly[name] == "" {
					t.Errorf("%s begins a transaction that is READ ONLY, which a read/write splitter sends to a replica: nothing may be decided by it", name)
				}
			}
			return err
		}))
	}
	require.Empty(t, left, "begin none any more")
}

var (
	comment = regexp.MustCompile(`(?m)--.*$`)
	text    = regexp.MustCompile(`'[^']*'`)
	mark    = regexp.MustCompile(`(?m)^-- (shows|part of other statements)$`)
	reads   = regexp.MustCompile(`(?i)\bSELECT\b`)
	proves  = regexp.MustCompile(`@\{primary\}|pg_is_in_recovery\(\)`)
	// changes are what a standby refuses, and what splitters send to the primary.
	changes = regexp.MustCompile(`(?i)\b(UPDATE [@{]|(INSERT INTO|DELETE FROM|MERGE INTO|TRUNCATE|CREATE|DROP|ALTER|LOCK TABLE|FOR (NO KEY )?(UPDATE|SHARE))\b)`)
)

// judge checks a statement by rule R13: on a standby it fails, or nothing is decided by it.
func judge(sql string) error {
	marked := mark.MatchString(sql)
	sql = text.ReplaceAllString(comment.ReplaceAllString(sql, ""), "''")
	proven := proves.MatchString(sql)
	switch {
	case marked && proven:
		return errors.New("it is marked as one that decides nothing, and proves that it runs on the primary: drop one of them")
	case marked || proven || changes.MatchString(sql) || !reads.MatchString(sql):
		return nil
	default:
		return errors.New("a standby could answer it: add the condition @{primary}, or the comment \"-- shows\" if only people and metrics look at the result")
	}
}

// TestR13_ReadsThatDecide goes over the statements of the PostgreSQL stores.
func TestR13_ReadsThatDecide(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	seen := map[string]bool{}
	require.NoError(t, fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		dir := path.Dir(name)
		if err != nil || path.Base(dir) != "sql" || path.Ext(name) != ".sql" {
			return err
		}
		seen[dir] = true
		if notPrimary[dir] != "" || strings.HasSuffix(name, "_mysql.sql") {
			return nil
		}
		sql, err := fs.ReadFile(root, name)
		if err == nil {
			err = judge(string(sql))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	}))
	require.True(t, seen["outbox/pgoutbox/sql"])
	for dir := range notPrimary {
		require.True(t, seen[dir], "%s has no statements any more", dir)
	}
}

func TestR13_Judge(t *testing.T) {
	t.Parallel()
	for fine, statements := range map[bool][]string{
		false: {
			"SELECT 1",
			"-- Shows the rows.\nSELECT 1",
			"-- it has @{primary}\nSELECT 'DROP TABLE'",
			"SELECT created_at, update FROM t",
			"SELECT pg_advisory_xact_lock($1)",
			"-- shows\nSELECT 1 WHERE @{primary}",
		},
		true: {
			"-- Why.\n-- shows\nSELECT 1",
			"SELECT 1 WHERE @{primary}",
			"SELECT pg_is_in_recovery(), 1",
			"SELECT 1 FROM t FOR NO KEY UPDATE",
			"WITH a AS (DELETE FROM @{} RETURNING 1)\nSELECT 1",
			"UPDATE @{} SET a = (SELECT 1)",
			"SET LOCAL lock_timeout = '1s'",
		},
	} {
		for _, sql := range statements {
			require.Equal(t, fine, judge(sql) == nil, sql)
		}
	}
}
