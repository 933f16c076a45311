package pginbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI13_FailurePointsOfBatches lets everything happen to a batch, once: its messages
// are delivered until they are acked, and take effect once each.
//
//leat:level 2
func TestI13_FailurePointsOfBatches(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	for _, point := range []failpoint.Name{
		failpoint.ConsumerAfterReceive, failpoint.ConsumerAttemptWrite, failpoint.ConsumerAfterClaim,
		failpoint.ConsumerBeforeCommit, failpoint.ConsumerCommitAmbiguous,
	} {
		for kind := range (&victim{}).kinds() {
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				v := &victim{subject: newSubject(t, env, pginbox.Config{}), points: &failpointtest.Registry{}}
				require.NoError(t, v.points.EnableAt(point, 1, v.kinds()[kind]))
				p, err := v.Open("victim", inbox.Config{
					BusyDelay: time.Millisecond,
					OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 4, Delay: time.Millisecond},
				})
				require.NoError(t, err)
				v.p = p
				b, err := inbox.NewBatch(p.(*pginbox.Inbox).Processor, inbox.BatchConfig{})
				require.NoError(t, err)
				left, deadline := []string{"a", "b", "c"}, time.Now().Add(time.Minute)
				for len(left) > 0 {
					require.True(t, time.Now().Before(deadline), "%v not acked", left)
					left = v.deliverBatch(t, b, left)
				}
				require.Positive(t, v.points.Hits(point))
				effects, err := v.Effects(t.Context())
				require.NoError(t, err)
				slices.Sort(effects)
				require.Equal(t, []string{"a", "b", "c"}, effects)
				parked, err := v.Parked(t.Context(), "victim")
				require.NoError(t, err)
				require.Empty(t, parked)
				require.False(t, v.early, "I3")
			})
		}
	}
}

// deliverBatch returns the ids for which the broker has got no ack.
func (v *victim) deliverBatch(t *testing.T, b *inbox.Batch, pending []string) (left []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), v.points))
	defer cancel()
	v.cancel = cancel
	defer func() {
		if what := recover(); what != nil {
			require.Contains(t, what, "failpoint: ")
			left = pending
		}
	}()
	msgs := make([]*message.Message, len(pending))
	for i, id := range pending {
		msgs[i] = message.NewMessageWithContext(ctx, id, nil)
	}
	for i, err := range b.Process(ctx, msgs, func(ctx context.Context, msgs []*message.Message) error {
		for _, msg := range msgs {
			if err := v.Write(ctx, msg.UUID); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil || ctx.Err() != nil {
			left = append(left, pending[i])
		}
	}
	return left
}
