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
