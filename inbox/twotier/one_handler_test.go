package twotier_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/onehandler/routed"
)

// TestN1_TwoHandlersBehindACache: A1. A cache does not acknowledge for one handler
// what the other one has processed.
func TestN1_TwoHandlersBehindACache(t *testing.T) {
	t.Parallel()
	in, err := meminbox.New("loyalty", meminbox.Config{})
	require.NoError(t, err)
	tiers, err := twotier.New(in.Processor, twotier.Config{Scope: (&history{scope: "one"}).Scope})
	require.NoError(t, err)
	deliver := func(handler string) error {
		msg, err := routed.Message(t.Context(), handler, "a")
		require.NoError(t, err)
		_, err = tiers.Process(msg.Context(), msg, func(context.Context) error { return nil })
		return err
	}
	require.NoError(t, deliver("points"))
	require.NoError(t, deliver("points"), "a duplicate")
	require.ErrorIs(t, deliver("mail"), inbox.ErrTwoHandlers)
	require.ErrorIs(t, deliver("points"), inbox.ErrTwoHandlers)
}
