package sqldialect_test

import (
	"errors"
	"fmt"
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

func TestErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err       error
		number    int
		locked    bool
		missing   bool
		duplicate bool
	}{
		{errors.New("Error 1205 (HY000): Lock wait timeout exceeded"), 1205, true, false, false},
		{fmt.Errorf("leat: x: %w", errors.New("Error 1213 (40001): Deadlock found")), 1213, true, false, false},
		{errors.New("Error 3572 (HY000): NOWAIT is set"), 3572, true, false, false},
		{errors.New("Error 1146 (42S02): Table 'a.b' doesn't exist"), 1146, false, true, false},
		{errors.New("Error 1062 (23000): Duplicate entry"), 1062, false, false, true},
		{coded(5), 5, true, false, false},
		{coded(5 | 2<<8), 5, true, false, false},
		{coded(8), 8, false, false, false},
		{coded(19 | 6<<8), 19, false, false, true},
		{errors.New("SQL logic error: no such table: box (1)"), 1, false, true, false},
		{errors.New("database is locked"), 5, true, false, false},
		{errors.New("attempt to write a readonly database"), 8, false, false, false},
		{errors.New("Errors 1205"), 0, false, false, false},
		{nil, 0, false, false, false},
	} {
		require.Equal(t, c.number, sqldialect.Number(c.err), "%v", c.err)
		require.Equal(t, c.locked, sqldialect.Locked(c.err), "%v", c.err)
		require.Equal(t, c.missing, sqldialect.MissingTable(c.err), "%v", c.err)
		require.Equal(t, c.duplicate, sqldialect.Duplicate(c.err), "%v", c.err)
	}
}
