package handbook_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

// TestSurface: no package shows its users more names than they can learn.
func TestSurface(t *testing.T) {
	t.Parallel()
	wide, looked, err := handbook.Surface(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, wide, strings.Join(wide, "\n"))
	require.Greater(t, looked, 30)
}

// TestSurface_ConvictsAWidePackage counts each kind of name, and none that users do not see.
func TestSurface_ConvictsAWidePackage(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("package box\n\nconst (\n")
	for i := range handbook.MaxNames - 2 {
		fmt.Fprintf(&text, "\tC%d = %d\n", i, i)
	}
	text.WriteString(")\n\ntype Box struct{}\n\nfunc (Box) Open() {}\n\nfunc shut() {}\n\nfunc New() Box { return Box{} }\n")
	find := func(file, more string) []string {
		wide, _, err := handbook.Surface(fstest.MapFS{file: {Data: []byte(text.String() + more)}})
		require.NoError(t, err)
		return wide
	}
	require.Empty(t, find("box/box.go", ""))
	for _, more := range []string{"\nvar Err, other = 1, 2\n", "\ntype Lid = Box\n", "\nfunc Shut() {}\n"} {
		require.Equal(t, []string{"box shows 61 names, and 60 are enough"}, find("box/box.go", more))
		for _, elsewhere := range []string{"box/box_test.go", "box/driver/box.go", "box/boxtest/box.go", "internal/box/box.go", "examples/box/box.go"} {
			require.Empty(t, find(elsewhere, more), elsewhere)
		}
	}
}
