package onehandler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/onehandler"
)

func one() {}

func two() {}

// TestN1_Functions: handlers that no router names are known by their functions.
func TestN1_Functions(t *testing.T) {
	t.Parallel()
	var g onehandler.Guard
	require.NoError(t, g.Check("points"), "a router's handler is of another kind")
	for range 2 {
		require.NoError(t, g.Check(onehandler.Function(one)))
		require.NoError(t, g.Check(onehandler.BatchFunction(two)), "one of each kind")
	}
	require.ErrorIs(t, g.Check(onehandler.Function(two)), onehandler.Err)
	err := g.Check(onehandler.Function(one))
	require.ErrorIs(t, err, onehandler.Err)
	require.ErrorContains(t, err, "onehandler_test.one")
	require.NoError(t, g.Check(onehandler.BatchFunction(two)))
	require.NoError(t, g.Check("points"))
	require.NotPanics(t, func() { onehandler.Function(nil) })
}

// TestN1_NamedByTheirOwner: a name in a context is that of one owner's handler.
func TestN1_NamedByTheirOwner(t *testing.T) {
	t.Parallel()
	outer, inner := new(int), new(int)
	ctx := onehandler.With(t.Context(), outer, "batch func outer")
	require.Equal(t, "batch func outer", onehandler.From(ctx, outer, "mine"))
	require.Equal(t, "mine", onehandler.From(ctx, inner, "mine"))
}
