package sqldialect_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/sqldialect"
)

func TestOfRefusesWhatIsUnknown(t *testing.T) {
	t.Parallel()
	_, err := sqldialect.Of("postgres")
	require.ErrorIs(t, err, sqldialect.ErrUnknown)
	require.ErrorContains(t, err, `"postgres"`)
}

func TestRenderReplacesTokens(t *testing.T) {
	t.Parallel()
	d, err := sqldialect.Of(sqldialect.MySQL)
	require.NoError(t, err)

	got, err := d.Render("box", "@{insert_ignore} @{} @{_held} @{for_update} @{skip_locked} @{nowait} {} ?")

	require.NoError(t, err)
	require.Equal(t, "INSERT IGNORE INTO `box` `box_held` FOR UPDATE FOR UPDATE SKIP LOCKED FOR UPDATE NOWAIT {} ?", got)
	for _, bad := range []string{"@{nope}", "@{X}", "@{"} {
		_, err := d.Render("box", bad)
		require.ErrorContains(t, err, "unknown token", bad)
	}
}

func TestInline(t *testing.T) {
	t.Parallel()
	require.Equal(t, `SELECT -7, x'00ff27', 9223372036854775807 FROM a`, sqldialect.Inline("SELECT ?, ?, ? FROM a",
		sqldialect.Int(-7), sqldialect.Bytes([]byte{0, 0xff, '\''}), sqldialect.Int(math.MaxInt64)))
	require.Equal(t, `x'3f' ?`, sqldialect.Inline("? ?", sqldialect.Bytes([]byte("?"))), "what was written is not looked at again")
}

func TestCheckTable(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "leat_outbox", "_A9", strings.Repeat("x", 48)} {
		require.NoError(t, sqldialect.CheckTable(good))
	}
	for _, bad := range []string{"", "9a", "a b", "a`b", "a.b", "ä", strings.Repeat("x", 49)} {
		require.ErrorIs(t, sqldialect.CheckTable(bad), sqldialect.ErrTable, bad)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	require.Equal(t, "?, ?, ?", sqldialect.Places(3))
	require.Equal(t, "(?, 1), (?, 1)", sqldialect.Rows(2, "?, 1"))
}

// coded is an error as modernc.org/sqlite has them.
type coded int

func (c coded) Error() string { return fmt.Sprintf("code %d", int(c)) }
func (c coded) Code() int     { return int(c) }

// fielded is an error as github.com/mattn/go-sqlite3 has them.
type fielded struct {
	Code, ExtendedCode resultCode
	text               string
}

func (f fielded) Error() string { return f.text }

// typed is an error as github.com/ncruces/go-sqlite3 has them.
type typed struct {
	code resultCode
	text string
}

type resultCode uint8

func (t *typed) Error() string    { return "sqlite3: " + t.text }
func (t *typed) Code() resultCode { return t.code }

func TestErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	deadlock := errors.New("Error 1213 (40001): Deadlock found")
	other := errors.New("claim failed")
	for _, c := range []struct {
		err     error
		number  int
		locked  bool
		missing bool
	}{
		{errors.New("Error 1205 (HY000): Lock wait timeout exceeded"), 1205, true, false},
		{fmt.Errorf("leat: x: %w", deadlock), 1213, true, false},
		{fmt.Errorf("leat: x: %w", fmt.Errorf("%w: %w", other, deadlock)), 1213, true, false},
		{fmt.Errorf("%w: %w", other, errors.Join(other, fmt.Errorf("x: %w", deadlock))), 1213, true, false},
		{fmt.Errorf("%w: %w", other, coded(6)), 6, true, false},
		{fmt.Errorf("%w: %w", other, other), 0, false, false},
		{errors.New("Error 3572 (HY000): NOWAIT is set"), 3572, true, false},
		{errors.New("Error 1146 (42S02): Table 'a.b' doesn't exist"), 1146, false, true},
		{errors.New("Error 1062 (23000): Duplicate entry"), 1062, false, false},
		{coded(5), 5, true, false},
		{coded(5 | 2<<8), 5, true, false},
		{coded(6), 6, true, false},
		{coded(8), 8, false, false},
		{coded(19 | 6<<8), 19, false, false},
		{errors.New("SQL logic error: no such table: box (1)"), 1, false, true},
		{fielded{Code: 5, text: "database is locked"}, 5, true, false},
		{fielded{Code: 6, text: "database table is locked"}, 6, true, false},
		{fielded{Code: 6, text: "database table is locked: box"}, 6, true, false},
		{fielded{Code: 6, text: "database schema is locked: main"}, 6, true, false},
		{fielded{Code: 8, text: "attempt to write a readonly database"}, 8, false, false},
		{fielded{Code: 1, text: "no such table: box"}, 1, false, true},
		{&typed{5, "database is locked"}, 5, true, false},
		{fmt.Errorf("x: %w", &typed{6, "database table is locked"}), 6, true, false},
		{&typed{8, "attempt to write a readonly database"}, 8, false, false},
		{&typed{1, "SQL logic error: no such table: box"}, 1, false, true},
		{errors.New("Error 3101 (40000): Plugin instructed the server to rollback the current transaction"), 3101, false, false},
		{errors.New("Error 1180 (HY000): Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT"), 1180, false, false},
		{errors.New("Error 1020 (HY000): Record has changed since last read in table 'box'"), 1020, false, false},
		{errors.New("Errors 1205"), 0, false, false},
		{errors.New("Error 1792 (25006): Cannot execute statement in a READ ONLY transaction"), 1792, false, false},
		{coded(13), 13, false, false},
		{fielded{Code: 13, text: "database or disk is full"}, 13, false, false},
		{&typed{10, "disk I/O error"}, 10, false, false},
		{nil, 0, false, false},
	} {
		require.Equal(t, c.number, sqldialect.Number(c.err), "%v", c.err)
		require.Equal(t, c.locked, sqldialect.Locked(c.err), "%v", c.err)
		conflict := slices.Contains([]int{sqldialect.Deadlock, sqldialect.ChangedSince, sqldialect.GroupConflict, 1180}, c.number)
		require.Equal(t, conflict, sqldialect.Conflict(c.err), "%v", c.err)
		refused := conflict || c.number == sqldialect.SQLiteBusy || c.number == sqldialect.SQLiteFull
		require.Equal(t, refused, sqldialect.CommitRefused(c.err), "%v", c.err)
		require.Equal(t, c.missing, sqldialect.MissingTable(c.err), "%v", c.err)
		readOnly := c.number == sqldialect.ReadOnlySession || c.number == sqldialect.SQLiteReadOnly
		require.Equal(t, readOnly, sqldialect.ReadOnly(c.err), "%v", c.err)
	}
}

// TestCommitThatMayHaveHappened: a storage engine that has failed to commit for another reason than
// a lock has perhaps committed.
func TestCommitThatMayHaveHappened(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Error 1180 (HY000): Got error 1 - 'Operation not permitted' during COMMIT",
		"Error 1053 (08S01): Server shutdown in progress", "invalid connection",
	} {
		require.False(t, sqldialect.CommitRefused(errors.New(text)), text)
		require.False(t, sqldialect.Conflict(errors.New(text)), text)
	}
}

func TestOutagesAreToldApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Error 1021 (HY000): Disk full (/tmp/#sql); waiting for someone to free some space...":             true,
		"Error 1114 (HY000): The table 'box' is full":                                                      true,
		"Error 1030 (HY000): Got error 28 - 'No space left on device' from storage engine":                 true,
		"Error 1290 (HY000): The MySQL server is running with the --read-only option":                      true,
		"Error 1053 (08S01): Server shutdown in progress":                                                  true,
		"Error 3024 (HY000): Query execution was interrupted, maximum statement execution time exceeded":   false,
		"Error 1197 (HY000): Multi-statement transaction required more than 'max_binlog_cache_size' bytes": false,
		"Error 1062 (23000): Duplicate entry":                                                              false,
		"database or disk is full":                                                                         true,
		"sqlite3: disk I/O error":                                                                          true,
		"database is locked":                                                                               false,
		"no such table: box":                                                                               false,
	} {
		require.Equal(t, want, sqldialect.Outage(fmt.Errorf("leat: x: %w", errors.New(text))), text)
	}
	require.False(t, sqldialect.Outage(nil))
}
