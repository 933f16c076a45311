package inbox_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
)

// TestI13_FailurePoints fails at each point once: the messages take effect once,
// in this call or in the next.
func TestI13_FailurePoints(t *testing.T) {
	t.Parallel()
	for point, want := range map[failpoint.Name]error{
		failpoint.ConsumerAfterReceive:    inbox.ErrNotClaimed,
		failpoint.ConsumerAfterClaim:      nil, // run again in halves
		failpoint.ConsumerBeforeCommit:    nil,
		failpoint.ConsumerCommitAmbiguous: inbox.ErrCommitUnknown,
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			points := &failpointtest.Registry{}
			require.NoError(t, points.EnableAt(point, 1, failpointtest.Error(nil)))
			ctx := failpointtest.With(t.Context(), points)
			in, err := meminbox.New("tester", meminbox.Config{})
			require.NoError(t, err)
			b, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
			require.NoError(t, err)

			for _, err := range b.Process(ctx, keyed("a", "k/b", "k/c"), (&batchRecorder{}).handle) {
				require.ErrorIs(t, err, want)
			}
			require.NoError(t, errors.Join(b.Process(ctx, keyed("a", "k/b", "k/c"), (&batchRecorder{}).handle)...))
			var never batchRecorder
			require.NoError(t, errors.Join(b.Process(ctx, keyed("a", "k/b", "k/c"), never.handle)...))
			require.Empty(t, never.calls)
		})
	}
}
