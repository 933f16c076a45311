package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

//leat:level 0
func TestMemory_DiskIsNotTakenForIt(t *testing.T) {
	t.Parallel()

	require.Zero(t, roomIn(filepath.Join(t.TempDir(), "missing")))
	require.Zero(t, roomIn("/proc"), "a file system of another kind has no room")
	require.False(t, isInMemory("/tmp/leat-postgres-x"))
	require.True(t, isInMemory(memoryRoot+"/leat-postgres-x"))
	require.Empty(t, whereData("/tmp/leat-postgres-x"))
	require.NotEmpty(t, whereData(memoryRoot+"/leat-postgres-x"))
}

//leat:level 0
func TestMemory_NoLimitIsNoNumber(t *testing.T) {
	t.Parallel()

	for content, want := range map[string]uint64{"1024\n": 1024, "max\n": 0, "": 0} {
		path := filepath.Join(t.TempDir(), "limit")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		n, ok := number(path)
		require.Equal(t, want, n, content)
		require.Equal(t, want != 0, ok, content)
	}
	_, ok := number(filepath.Join(t.TempDir(), "missing"))
	require.False(t, ok)
}

// TestMemory_OfThisMachine holds what is reckoned against what is known without it: more
// than this process and less than the machine's.
//
//leat:level 0
func TestMemory_OfThisMachine(t *testing.T) {
	t.Parallel()

	if _, err := os.Stat("/proc/meminfo"); err != nil && !inCI() {
		t.Skip("needs /proc/meminfo")
	}
	free := availableMemory()
	require.Greater(t, free, uint64(1<<20))
	require.LessOrEqual(t, free, machineMemory()+machineMemory()/2)
}
