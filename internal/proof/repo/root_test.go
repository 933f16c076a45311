package repo_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/repo"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRoot_IsNotThatOfThisModule: Root goes up past the nested modules to leat's own.
func TestRoot_IsNotThatOfThisModule(t *testing.T) {
	t.Parallel()

	root, err := repo.Root(".")
	require.NoError(t, err)
	want, err := filepath.Abs("../../..")
	require.NoError(t, err)
	require.Equal(t, want, root)
}

func TestRoot_IsNotElsewhere(t *testing.T) {
	t.Parallel()

	_, err := repo.Root(t.TempDir())
	require.ErrorIs(t, err, repo.ErrNotInside)
}
