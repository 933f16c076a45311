package sqlfile_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/sqlfile"
)

func files() fs.FS {
	return fstest.MapFS{
		"sql/plain.sql":   {Data: []byte("SELECT 1\n")},
		"sql/comment.sql": {Data: []byte("-- Why.\n-- More.\nSELECT '--', 2 -- stays\n")},
	}
}

func upper(sql string) (string, error) { return strings.ToUpper(sql), nil }

func TestLoad(t *testing.T) {
	t.Parallel()
	var plain, comment string
	require.NoError(t, sqlfile.Load(files(), upper, map[string]*string{"plain": &plain, "comment": &comment}))
	require.Equal(t, "SELECT 1", plain)
	require.Equal(t, "SELECT '--', 2 -- STAYS", comment)

	all, err := sqlfile.LoadAll(files(), upper, "plain", "comment")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"plain": plain, "comment": comment}, all)
}

func TestLoad_NamesWhatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	_, err := sqlfile.LoadAll(files(), upper, "missing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "missing")

	refused := errors.New("refused")
	_, err = sqlfile.LoadAll(files(), func(string) (string, error) { return "", refused }, "plain")
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "plain")
}

func TestReplace(t *testing.T) {
	t.Parallel()
	word := func(name string) (string, bool) { return "<" + name + ">", sqlfile.IsSuffix(name) }
	for sql, want := range map[string]string{"": "", "@ {} @": "@ {} @", "@{}@{_a1}": "<><_a1>", "a @{_x} }": "a <_x> }"} {
		got, err := sqlfile.Replace(sql, word)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, sql := range []string{"@{", "@{_a", "@{a}", "@{_A}", "@{_a b}", "@{@{}}"} {
		_, err := sqlfile.Replace(sql, word)
		require.ErrorContains(t, err, "unknown token @{", sql)
	}
}
