package onehandler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/onehandler"
)

// TestN1_Guard: A1.
func TestN1_Guard(t *testing.T) {
	t.Parallel()
	var g onehandler.Guard
	for range 2 {
		require.NoError(t, g.Check(""))
		require.NoError(t, g.Check("points"))
	}
	require.ErrorIs(t, g.Check("mail"), onehandler.Err)
	err := g.Check("points")
	require.ErrorIs(t, err, onehandler.Err, "the first handler is no better than the second")
	require.ErrorContains(t, err, `"points" and "mail"`)
	require.NoError(t, g.Check(""), "what an operator redrives comes without a handler's name")
}
