package testenv_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 0
func TestVersionOf(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"1.sql": {Data: []byte("one")}, "more/2.sql": {Data: []byte("two")}}
	version := testenv.VersionOf(files, nil)
	require.Equal(t, version, testenv.VersionOf(files, nil))
	files["more/2.sql"] = &fstest.MapFile{Data: []byte("three")}
	require.NotEqual(t, version, testenv.VersionOf(files, nil))
	require.Equal(t, "no files", testenv.VersionOf(nil, errors.New("no files")))
}
