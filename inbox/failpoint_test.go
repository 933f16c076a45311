package inbox_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
)

// TestI1_FailurePoints fails at each point once: the message comes again and
// takes effect once.
func TestI1_FailurePoints(t *testing.T) {
	t.Parallel()
	for point, want := range map[failpoint.Name]inbox.Outcome{
		failpoint.ConsumerAfterReceive:    inbox.OutcomeFailed,
		failpoint.ConsumerAfterClaim:      inbox.OutcomeFailed,
		failpoint.ConsumerBeforeCommit:    inbox.OutcomeFailed,
		failpoint.ConsumerCommitAmbiguous: inbox.OutcomeUnknown,
	} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			points := &failpointtest.Registry{}
			require.NoError(t, points.EnableAt(point, 1, failpointtest.Error(nil)))
			ctx := failpointtest.With(t.Context(), points)
			in, err := meminbox.New("tester", meminbox.Config{})
			require.NoError(t, err)

			outcome, err := in.Process(ctx, message.NewMessage("a", nil), succeed)
			require.ErrorIs(t, err, failpointtest.ErrInjected)
			require.Equal(t, want, outcome)

			_, err = in.Process(ctx, message.NewMessage("a", nil), succeed)
			require.NoError(t, err)
			outcome, err = in.Process(ctx, message.NewMessage("a", nil), fail)
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeDuplicate, outcome)
		})
	}
}
